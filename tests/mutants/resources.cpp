#include "tests/mutants/resources.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace mutants {

using nlohmann::json;

int Resources::add(const std::string& name, const json& labels) const {
  if (folder_.empty()) return 0;
  if (name.empty() || name.find('/') != std::string::npos) return EINVAL;
  std::ofstream file(path_of(name));
  file << labels.dump();
  file.close();
  return file ? 0 : EIO;
}

int Resources::remove(const std::string& name) const {
  if (folder_.empty() || name.empty() || name.find('/') != std::string::npos) return 0;
  return ::unlink(path_of(name).c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

json Resources::list() const {
  json found = json::array();
  if (folder_.empty()) return found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    json labels = json::parse(text.str(), nullptr, false);
    if (!labels.is_object()) continue;  // nobody's of us
    found.push_back({{"name", entry.path().filename().string()}, {"labels", std::move(labels)}});
  }
  return found;
}

}  // namespace mutants

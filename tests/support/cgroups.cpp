#include "tests/support/cgroups.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace exechost::test {
namespace {

constexpr std::size_t kIdInName = 12;

std::string own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return cgroup_hierarchy() + line.substr(3);
  }
  return cgroup_hierarchy();
}

}  // namespace

std::string cgroup_hierarchy() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device;
  std::string point;
  std::string type;
  for (std::string rest; mounts >> device >> point >> type && std::getline(mounts, rest);) {
    if (type == "cgroup2") return point;
  }
  return {};
}

std::vector<std::string> cgroups_of(const std::string& environment_id) {
  std::vector<std::string> found;
  if (cgroup_hierarchy().empty()) return found;
  const std::string prefix = "exechost-" + environment_id.substr(0, kIdInName) + "-";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(own_cgroup(), error)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path().string());
  }
  return found;
}

}  // namespace exechost::test

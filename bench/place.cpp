#include "bench/place.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace exechost::bench {
namespace {

std::string new_folder() {
  std::string name = "/var/tmp/exechost-bench-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  return name;
}

}  // namespace

std::string built(const std::string& relative) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / relative).string();
}

Place::Place() : base_(new_folder()) {
  for (const char* folder : {"/workspace", "/home", "/runtime", "/config"}) {
    std::filesystem::create_directory(base_ + folder);
    std::filesystem::permissions(base_ + folder, std::filesystem::perms::owner_all);
  }
  environment_ = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", home()},  {"LANG", "C.UTF-8"},
                  {"XDG_RUNTIME_DIR", base_ + "/runtime"},  {"TERM", "xterm"}, {"USER", "bench"},
                  {"XDG_CONFIG_HOME", base_ + "/config"}};
  std::filesystem::create_directory(base_ + "/config/exechost");
  const nlohmann::json settings{
      {"plugins", {{"directories", {built("bench/plugins")}}}},
      {"admission", {{"node", {{"security", "full"}, {"ask", "off"}}}}},
  };
  std::ofstream(base_ + "/config/exechost/settings.json") << settings.dump(2) << '\n';
}

Place::~Place() {
  std::error_code ignored;
  std::filesystem::remove_all(base_, ignored);
}

HostOptions Place::host_options(KeeperPlacement keeper) const {
  HostOptions options;
  options.keeper = keeper;
  options.workspace = workspace();
  options.environment = environment_;
  options.prefix = built("");
  return options;
}

}  // namespace exechost::bench

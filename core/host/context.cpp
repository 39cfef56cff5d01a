#include "core/host/context.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "core/cleanup/ledger.hpp"

namespace exechost::host {
namespace {

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (equals != nullptr)
      variables.emplace(std::string(static_cast<const char*>(*entry), equals), std::string(equals + 1));
  }
  return variables;
}

std::string absolute_variable(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  // XDG Base Directory Specification: a relative path is invalid and ignored.
  return found != environment.end() && found->second.starts_with('/') ? found->second : std::string();
}

std::string home_folder(const std::map<std::string, std::string>& environment) {
  if (std::string home = absolute_variable(environment, "HOME"); !home.empty()) return home;
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return entry.pw_dir;
  return "/nonexistent";
}

std::string xdg_folder(const std::map<std::string, std::string>& environment, const char* variable,
                       const char* in_home) {
  const std::string base = absolute_variable(environment, variable);
  return (base.empty() ? home_folder(environment) + in_home : base) + "/exechost";
}

}  // namespace

Context make_context(const HostOptions& options) {
  Context context;
  context.placement = options.keeper;
  context.environment = options.environment ? *options.environment : process_environment();
  std::error_code error;
  context.process_cwd = std::filesystem::current_path(error).string();
  struct stat status {};
  if (::stat(".", &status) == 0) {
    context.process_cwd_device = status.st_dev;
    context.process_cwd_inode = status.st_ino;
  }
  context.single_run = options.single_run;
  context.session_owner = options.session_owner;
  context.workspace = options.workspace;
  context.system_dir = options.system_config_dir.empty() ? "/etc/exechost" : options.system_config_dir;
  context.user_dir = options.user_config_dir.empty() ? xdg_folder(context.environment, "XDG_CONFIG_HOME", "/.config")
                                                     : options.user_config_dir;
  context.state_dir = xdg_folder(context.environment, "XDG_STATE_HOME", "/.local/state");
  context.cache_dir = xdg_folder(context.environment, "XDG_CACHE_HOME", "/.cache");
  context.runtime_dir = cleanup::default_runtime_folder(context.environment);
  context.installation = find_installation(options.prefix);
  return context;
}

std::vector<std::string> Context::own_paths() const {
  std::vector<std::string> paths{system_dir, user_dir};
  if (!installation) return paths;
  paths.push_back(installation->prefix + "/libexec/exechost");
  paths.push_back(installation->prefix + "/bin/exechost");
  paths.push_back(installation->prefix + "/lib/libexechost.so.0");
  paths.push_back(installation->prefix + "/lib/exechost");
  paths.insert(paths.end(), installation->plugin_folders.begin(), installation->plugin_folders.end());
  return paths;
}

void Context::make_private_folders() const {
  for (const std::string& path : own_private_paths()) {
    if (path.empty() || ::mkdir(path.c_str(), S_IRWXU) == 0 || errno != ENOENT) continue;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    (void)::mkdir(path.c_str(), S_IRWXU);
  }
}

}  // namespace exechost::host

#include "host_support.hpp"
#include "exechost_test_paths.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace exechost::test {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

HostScene::HostScene(KeeperPlacement placement) {
  std::string pattern = ::testing::TempDir() + "/exechost-host-XXXXXX";
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  folder = fs::canonical(pattern).string();
  workspace = folder + "/workspace";
  ledger = folder + "/run/exechost/ledger";
  for (const char* name : {"workspace", "home", "run", "state", "cache", "config"}) {
    fs::create_directory(folder + "/" + name);
    fs::permissions(folder + "/" + name, fs::perms::owner_all);
  }
  options.keeper = placement;
  options.workspace = workspace;
  options.prefix = EXECHOST_BUILD_PREFIX;
  options.system_config_dir = folder + "/config";
  options.user_config_dir = folder + "/config/user";
  options.environment = std::map<std::string, std::string>{{"PATH", "/usr/bin:/bin"},
                                                           {"HOME", folder + "/home"},
                                                           {"XDG_RUNTIME_DIR", folder + "/run"},
                                                           {"XDG_STATE_HOME", folder + "/state"},
                                                           {"XDG_CACHE_HOME", folder + "/cache"}};
}

HostScene::~HostScene() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::size_t HostScene::ledger_entries() const {
  std::error_code error;
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(ledger, error), {}));
}

bool HostScene::runs(const std::string& mark) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (entry.path().filename() != std::to_string(::getpid()) &&
        contents(entry.path() / "cmdline").find(mark) != std::string::npos) {
      return true;
    }
  }
  return false;
}

bool HostScene::appears(const std::string& mark) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!runs(mark)) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

std::vector<pid_t> HostScene::children(const std::string& name) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/self/task", error)) {
    std::istringstream pids(contents(task.path() / "children"));
    for (pid_t pid = 0; pids >> pid;) {
      if (contents("/proc/" + std::to_string(pid) + "/cmdline").find(name) != std::string::npos) found.push_back(pid);
    }
  }
  return found;
}

std::string bwrap_problem(const HostOptions& options) {
  ExecHost host(options);
  const auto backends = host.backends_json();
  if (!backends) return describe(backends.error());
  for (const auto& backend : nlohmann::json::parse(*backends)) {
    if (backend["id"] == "bwrap") return backend["ready"] == true ? "" : backend.dump();
  }
  return "the bwrap plugin is not built";
}

long status_number(pid_t pid, const std::string& name) {
  std::istringstream status(contents("/proc/" + std::to_string(pid) + "/status"));
  for (std::string word; status >> word;) {
    long value = 0;
    if (word == name + ":" && status >> value) return value;
  }
  return -1;
}

Request shell(const std::string& script) {
  Request request;
  request.shell = script;
  return request;
}

}  // namespace exechost::test

#include "core/node/cgroup.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/unique_fd.hpp"

namespace exechost::node {
namespace {

constexpr mode_t kFolderMode = 0755;

std::vector<std::string> lines_of(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

// "0::/path" of proc(5) is the process's place in the version 2 hierarchy.
std::optional<std::string> own_path() {
  constexpr std::string_view kUnified = "0::";
  for (const std::string& line : lines_of("/proc/self/cgroup")) {
    if (line.starts_with(kUnified)) return line.substr(kUnified.size());
  }
  return std::nullopt;
}

struct Mount {
  std::string root;
  std::string point;
};

// proc_pid_mountinfo(5): ID PARENT DEVICE ROOT POINT OPTIONS... - TYPE ...
std::optional<Mount> cgroup2_mount() {
  constexpr std::size_t kRoot = 3;
  constexpr std::size_t kPoint = 4;
  for (const std::string& line : lines_of("/proc/self/mountinfo")) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    const auto words = words_of(line);
    if (words.size() > kPoint) return Mount{words[kRoot], words[kPoint]};
  }
  return std::nullopt;
}

// The keeper's own cgroup as a folder; empty when it is nowhere to be seen.
std::string own_folder() {
  const auto path = own_path();
  const auto mount = cgroup2_mount();
  if (!path || !mount) return {};
  std::string below = *path;
  if (mount->root != "/" && below.starts_with(mount->root)) below.erase(0, mount->root.size());
  return below.empty() || below == "/" ? mount->point : mount->point + below;
}

std::vector<std::string> cgroups_named(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(folder, error); !error && at != std::filesystem::end(at);
       at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) found.push_back(at->path().string());
  }
  return found;
}

void kill_cgroup(const std::string& path) {
  const UniqueFd fd(::open((path + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  // Nothing to write to: it is gone, and so is every member.
  if (fd) [[maybe_unused]]
    const ssize_t written = ::write(fd.get(), "1", 1);
}

// With those that a command has made in it.
bool remove_cgroup(const std::string& path, int depth = 0) {
  constexpr int kDeepest = 64;
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  if (errno != EBUSY || depth > kDeepest) return false;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(path, error); !error && at != std::filesystem::end(at);
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) remove_cgroup(at->path().string(), depth + 1);
  }
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

// Trials are named after their process, so that those which one left that was killed are found; of another PID
// namespace nothing is known.
std::string trials_of_this_namespace() {
  std::error_code error;
  const std::string target = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();  // "pid:[NUMBER]"
  std::string number;
  for (const char c : target) {
    if (c >= '0' && c <= '9') number += c;
  }
  return fmt::format("exechost-trial-{}-", number);
}

void remove_dead_trials(const std::string& folder, const std::string& prefix) {
  for (const std::string& path : cgroups_named(folder, prefix)) {
    const auto pid = static_cast<pid_t>(std::strtol(path.c_str() + folder.size() + 1 + prefix.size(), nullptr, 10));
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) remove_cgroup(path);
  }
}

}  // namespace

std::string CommandCgroups::base() const {
  return fmt::format("{}/{}", folder_, prefix_.substr(0, prefix_.size() - 1));
}

CommandCgroups CommandCgroups::only(unsigned number) const {
  CommandCgroups one = *this;
  if (any()) one.only_ = fmt::format("{}-{}", base(), number);
  return one;
}

std::vector<std::string> CommandCgroups::paths() const {
  if (!any()) return {};
  if (!only_.empty()) return {only_};
  return cgroups_named(folder_, prefix_);
}

void CommandCgroups::kill() const {
  for (const std::string& path : paths()) kill_cgroup(path);
}

bool CommandCgroups::remove() const {
  bool gone = true;
  for (const std::string& path : paths()) gone = remove_cgroup(path) && gone;
  return gone;
}

CgroupPlace find_cgroup_place() {
  const std::string folder = own_folder();
  if (folder.empty()) return {{}, "no cgroup version 2 hierarchy is mounted"};
  // A member is moved from here to below here: that takes the right to write here.
  if (::faccessat(AT_FDCWD, (folder + "/cgroup.procs").c_str(), W_OK, AT_EACCESS) != 0) {
    return {{}, fmt::format("{} is not delegated: {}", folder, std::strerror(errno))};
  }
  const std::string trials = trials_of_this_namespace();
  remove_dead_trials(folder, trials);
  const std::string trial = fmt::format("{}/{}{}-{}", folder, trials, ::getpid(), ::gettid());
  if (::mkdir(trial.c_str(), kFolderMode) != 0)
    return {{}, fmt::format("no cgroup can be made in {}: {}", folder, std::strerror(errno))};
  const bool killable = ::faccessat(AT_FDCWD, (trial + "/cgroup.kill").c_str(), W_OK, AT_EACCESS) == 0;
  const int error = errno;
  remove_cgroup(trial);
  if (!killable) return {{}, fmt::format("no cgroup.kill (Linux 5.14) in {}: {}", folder, std::strerror(error))};
  return {folder, fmt::format("cgroups can be made in {}", folder)};
}

}  // namespace exechost::node

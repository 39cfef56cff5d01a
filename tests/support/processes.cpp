#include "tests/support/processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/unique_fd.hpp"

namespace exechost::test {
namespace {

std::string slurp(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool read_process(pid_t pid, ProcessInfo& info) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string stat = slurp(folder + "/stat");
  const auto open = stat.find('(');
  const auto close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return false;
  std::istringstream rest(stat.substr(close + 1));
  rest >> info.state >> info.parent;
  info.pid = pid;
  info.name = stat.substr(open + 1, close - open - 1);
  info.command = slurp(folder + "/cmdline");
  std::replace(info.command.begin(), info.command.end(), '\0', ' ');
  return static_cast<bool>(rest);
}

}  // namespace

bool wait_until_ended(pid_t pid, std::chrono::milliseconds patience) {
  const UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return true;
  pollfd poll_fd{fd.get(), POLLIN, 0};
  return poll(&poll_fd, 1, static_cast<int>(patience.count())) == 1;
}

void become_subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<ProcessInfo> all_processes() {
  std::vector<ProcessInfo> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    ProcessInfo info;
    if (read_process(static_cast<pid_t>(std::stol(name)), info)) found.push_back(std::move(info));
  }
  return found;
}

std::vector<ProcessInfo> descendants_of(pid_t ancestor) {
  const auto all = all_processes();
  std::set<pid_t> family{ancestor};
  std::vector<ProcessInfo> found;
  // /proc is sorted by number, not by age: repeat until no process joins any more.
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& process : all) {
      if (family.contains(process.parent) && family.insert(process.pid).second) {
        found.push_back(process);
        grew = true;
      }
    }
  }
  return found;
}

std::vector<ProcessInfo> remaining_children(const std::set<pid_t>& known, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    std::vector<ProcessInfo> alive;
    for (const auto& process : all_processes()) {
      if (process.parent != getpid() || known.contains(process.pid)) continue;
      if (process.state == 'Z') {
        waitpid(process.pid, nullptr, WNOHANG);
      } else {
        alive.push_back(process);
      }
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (alive.empty() || left.count() <= 0) return alive;
    wait_until_ended(alive.front().pid, left);
  }
}

std::vector<ProcessInfo> running_descendants(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto alive = descendants_of(getpid());
    std::erase_if(alive, [](const ProcessInfo& process) { return process.state == 'Z' || process.state == 'X'; });
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (alive.empty() || left.count() <= 0) return alive;
    wait_until_ended(alive.front().pid, left);
  }
}

std::string to_text(const std::vector<ProcessInfo>& processes) {
  std::string text;
  for (const auto& process : processes) {
    text += fmt::format("{} {} {} [{}]\n", process.pid, process.state, process.name, process.command);
  }
  return text;
}

long status_number(pid_t pid, const std::string& name) {
  std::istringstream lines(slurp("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  }
  return -1;
}

}  // namespace exechost::test

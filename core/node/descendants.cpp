#include "core/node/descendants.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"

namespace exechost::node {
namespace {

constexpr int kRounds = 3;
constexpr int kDepth = 64;
constexpr pid_t kNone = -1;

// The number after `label` in a /proc file of "Label:\tNUMBER" lines.
pid_t number_in(const std::string& path, const std::string& label) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    pid_t number = kNone;
    if (word == label && file >> number) return number;
  }
  return kNone;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

// By pidfd, and only while it still is a child of `parent`: the number may be another's by now.
void kill_tree(pid_t parent, pid_t pid, int depth) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd || number_in(fmt::format("/proc/{}/status", pid), "PPid:") != parent) return;
  if (depth > 0) {
    for (const pid_t child : children_of(pid)) kill_tree(pid, child, depth - 1);
  }
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

}  // namespace

void kill_descendants(int pidfd) {
  const pid_t root = number_in(fmt::format("/proc/self/fdinfo/{}", pidfd), "Pid:");
  if (root <= 0) return;
  for (int round = 0; round < kRounds; ++round) {
    const auto children = children_of(root);
    for (const pid_t child : children) kill_tree(root, child, kDepth);
    if (children.empty()) return;
  }
}

}  // namespace exechost::node

// What is below this process at one moment, and what it is.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/processes.hpp"

namespace exechost::test {

inline bool is_alive(const ProcessInfo& process) { return process.state != 'Z' && process.state != 'X'; }

inline bool has_variable(pid_t pid, const std::string& name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/environ";
  std::ifstream file(path);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with(name + "=")) return true;
  }
  return false;
}

class Family {
 public:
  Family() : all_(descendants_of(::getpid())) {
    std::erase_if(all_, [](const ProcessInfo& process) { return !is_alive(process); });
    for (const auto& process : all_) by_pid_[process.pid] = &process;
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  const std::vector<ProcessInfo>& all() const { return all_; }
  const ProcessInfo* find(pid_t pid) const {
    const auto found = by_pid_.find(pid);
    return found == by_pid_.end() ? nullptr : found->second;
  }
  std::string parent_name(const ProcessInfo& process) const {
    const ProcessInfo* const parent = find(process.parent);
    return parent == nullptr ? std::string() : parent->name;
  }
  bool has_child(pid_t pid) const {
    return std::any_of(all_.begin(), all_.end(), [pid](const ProcessInfo& process) { return process.parent == pid; });
  }
  // Whether it, or one above it, is such a one.
  template <class Predicate>
  bool is_below(const ProcessInfo& process, const Predicate& is_one) const {
    for (const ProcessInfo* at = &process; at != nullptr; at = find(at->parent)) {
      if (is_one(*at)) return true;
    }
    return false;
  }

 private:
  std::vector<ProcessInfo> all_;
  std::map<pid_t, const ProcessInfo*> by_pid_;
};

inline bool is_detached_keeper(const ProcessInfo& process) {
  return process.name == "exechost-keeper" && process.command.find(" --detached ") != std::string::npos;
}
inline bool is_serving_guest(const Family& family, const ProcessInfo& process) {
  return process.name == "exechost-guest" && family.parent_name(process) == "bwrap";
}

}  // namespace exechost::test

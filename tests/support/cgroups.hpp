// The cgroups (version 2) of this machine, as the node tier uses them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace exechost::test {

// Where the hierarchy is mounted; empty: nowhere.
inline std::string cgroup_hierarchy() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device;
  std::string point;
  std::string type;
  for (std::string rest; mounts >> device >> point >> type && std::getline(mounts, rest);) {
    if (type == "cgroup2") return point;
  }
  return {};
}

inline std::string own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return cgroup_hierarchy() + line.substr(3);
  }
  return cgroup_hierarchy();
}

// Those there are now of the environment of this id, whose keeper is in the cgroup of this process. Paths.
inline std::vector<std::string> cgroups_of(const std::string& environment_id) {
  constexpr std::size_t kIdInName = 12;
  std::vector<std::string> found;
  if (cgroup_hierarchy().empty()) return found;
  const std::string prefix = "exechost-" + environment_id.substr(0, kIdInName) + "-";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(own_cgroup(), ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path().string());
  }
  return found;
}

// Those that ExecHost made below this process's and that have no process in them.
inline std::vector<std::string> empty_command_cgroups() {
  std::vector<std::string> found;
  if (cgroup_hierarchy().empty()) return found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(own_cgroup(), ignored)) {
    if (!entry.path().filename().string().starts_with("exechost-")) continue;
    std::ifstream events(entry.path() / "cgroup.events");
    for (std::string line; std::getline(events, line);) {
      if (line == "populated 0") found.push_back(entry.path().string());
    }
  }
  return found;
}

}  // namespace exechost::test

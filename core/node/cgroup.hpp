// Cgroups of single commands: folders below the keeper's own cgroup, where the machine lets it make
// some (root, or a delegated subtree). Internal to this module. [any thread]
#pragma once

#include <optional>
#include <string>

namespace exechost::node {

struct CgroupPlace {
  std::string folder;    // where cgroups of commands are made; empty: they can't be
  std::string evidence;  // what was seen
};

// Tries it out: makes one, looks whether it can be killed, removes it.
CgroupPlace find_cgroup_place();

// The path of a new one; nothing when it could not be made (errno says why).
std::optional<std::string> make_cgroup(const std::string& folder, const std::string& name);

// SIGKILL to every member, by the kernel, at once.
void kill_cgroup(const std::string& path);

// Removes it; true when it is gone. False while a member lives.
bool remove_cgroup(const std::string& path);

}  // namespace exechost::node

// Cgroups of single commands: folders below the keeper's own cgroup, where the machine lets it make
// some (root, or a delegated subtree). Internal to this module. [any thread]
#pragma once

#include <string>
#include <vector>

namespace exechost::node {

struct CgroupPlace {
  std::string folder;    // where cgroups of commands are made; empty: they can't be
  std::string evidence;  // what was seen
};

// Tries it out: makes one, looks whether it can be killed, removes it. And those that one left which was killed
// meanwhile.
CgroupPlace find_cgroup_place();

// Paths of those in `folder` whose names begin with `prefix`.
std::vector<std::string> cgroups_named(const std::string& folder, const std::string& prefix);

// SIGKILL to every member, by the kernel, at once.
void kill_cgroup(const std::string& path);

// Removes it; true when it is gone. False while a member lives.
bool remove_cgroup(const std::string& path);

}  // namespace exechost::node

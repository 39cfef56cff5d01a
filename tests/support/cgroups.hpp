// The cgroups that the node tier gives to commands, seen from beside them.
#pragma once

#include <string>
#include <vector>

namespace exechost::test {

// Where the version 2 hierarchy is mounted; empty: nowhere.
std::string cgroup_hierarchy();

// Those there are now of the environment of this id, whose keeper is in the cgroup of this process. Paths.
std::vector<std::string> cgroups_of(const std::string& environment_id);

}  // namespace exechost::test

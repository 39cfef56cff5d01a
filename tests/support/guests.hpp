// The guests of environments that last, below this process.
#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

#include "tests/support/processes.hpp"

namespace exechost::test {

// Guests that serve: the only processes of that name whose parent is a bwrap or no guest.
inline std::vector<pid_t> serving_guests(pid_t ancestor) {
  std::vector<pid_t> found;
  std::set<pid_t> guests;
  const auto all = descendants_of(ancestor);
  for (const auto& process : all) {
    if (process.name == "exechost-guest" && process.state != 'Z') guests.insert(process.pid);
  }
  for (const auto& process : all) {
    if (guests.contains(process.pid) && !guests.contains(process.parent)) found.push_back(process.pid);
  }
  return found;
}

}  // namespace exechost::test

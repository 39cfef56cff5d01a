// What tells one machine, boot, pid namespace and process from another, so that a ledger entry
// is never mistaken for one of somebody else's.
#pragma once

#include <cstdint>
#include <string>

#include "exechost/failure.hpp"

namespace exechost::cleanup {

struct Identity {
  std::string machine;          // a UUID derived from /etc/machine-id (which itself is not to be spread)
  std::string boot;             // /proc/sys/kernel/random/boot_id
  std::uint64_t pid_ns = 0;     // inode of /proc/self/ns/pid; 0 when /proc is not there
  int pid = 0;                  // of this process
  std::uint64_t pid_start = 0;  // its start time in clock ticks since boot: pids are used again
};

// Reads it from /etc and /proc; what can't be read stays empty.
Identity current_identity();

// 32 hex digits from getrandom(2). Fails only when the kernel has no randomness to give.
Result<std::string> make_id();
bool is_id(const std::string& text);

}  // namespace exechost::cleanup

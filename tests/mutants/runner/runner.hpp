// What plugin and runner agree about: the runner's descriptors, options and reports.
#pragma once

#include <cstdint>

namespace mutants {

// 0 to 2 are the command's, 3 the guest's control socket.
inline constexpr int kStatusFd = 4;  // reports go here
inline constexpr int kLeashFd = 5;   // signal numbers come here, a byte each; its end ends the command
inline constexpr int kExtraFd = 6;   // nothing, or what the command must not have

struct Report {
  enum Kind : std::int32_t {
    started = 1,      // the command's exec succeeded
    not_started = 2,  // it failed; value: errno
    ended = 3,        // value: wait status. Proven when the runner itself has ended
    no_place = 4,     // namespaces could not be made; value: errno
  };
  std::int32_t kind = 0;
  std::int32_t value = 0;
};

}  // namespace mutants

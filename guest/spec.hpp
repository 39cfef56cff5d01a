// The specification of one execution, as the keeper writes it into a sealed memfd and the
// guest reads it: records of {u32 tag, u32 length, bytes}, native byte order, tag kEnd last.
// Reading is bounds-checked; an unknown tag is an error (keeper and guest are one release).
#pragma once

#include <cstdint>
#include <cstring>

namespace exechost::guest {

enum class Tag : std::uint32_t {
  end = 0,
  argument = 1,     // repeated, in order
  environment = 2,  // repeated, "NAME=value"
  working_directory = 3,
  tty = 4,                 // u32: 1 when stdio is a terminal's slave
  seccomp_profile = 5,     // name of a built-in profile; absent: none
  landlock = 6,            // u32: 1 = use it where the kernel has it
  landlock_read = 7,       // path: read and execute below it
  landlock_write = 8,      // path: everything below it
  rlimit = 9,              // u32 resource, u32 zero, u64 value (soft and hard)
  umask = 10,              // u32
  view_same = 11,          // u64 device, u64 inode, path: what must be there
  view_other = 12,         // the same: what must not be there
  unconfined = 13,         // u32: 1 = the node tier: no confinement, the command keeps privileges and umask
  inherited = 14,          // u32: 1 = of a `serve` guest, which is confined: nothing is put on, privileges are gone
  fallback_argument = 15,  // repeated, in order: another command, where the first one's program is not there
  descriptor = 16,         // u32, repeated: the command's number of the next descriptor that came with `run`
  last = descriptor,
};

struct RecordHeader {
  std::uint32_t tag;
  std::uint32_t length;
};
static_assert(sizeof(RecordHeader) == 8);

// Where the command may get descriptors beside its streams.
inline constexpr std::uint32_t kLowestPlace = 3;
inline constexpr std::uint32_t kHighestPlace = 15;

inline constexpr std::uint64_t kMaxSpecBytes = 64ull * 1024 * 1024;

}  // namespace exechost::guest

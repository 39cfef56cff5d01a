// Reads a specification out of a memfd, with bounds, into memory that lives as long as the guest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guest/outcome.hpp"
#include "guest/protocol.hpp"
#include "guest/spec.hpp"

namespace exechost::guest {

struct LandlockRule {
  const char* path;
  bool write;
};

struct ResourceLimit {
  std::uint32_t resource;
  std::uint64_t value;
};

// What has to be, or must not be, at a path.
struct ViewCheck {
  const char* path;
  std::uint64_t device;
  std::uint64_t inode;
  bool same;
};

// Every pointer is into one block that read_spec maps and never frees.
struct Spec {
  char** arguments = nullptr;                // null-terminated, at least one
  char** fallback = nullptr;                 // null-terminated; empty: none
  char** environment = nullptr;              // null-terminated
  int places[kMostFurtherDescriptors] = {};  // of descriptors beside the streams
  int place_count = 0;
  const char* working_directory = "/";
  bool tty = false;
  bool seccomp = false;
  bool landlock = false;
  const LandlockRule* landlock_rules = nullptr;
  std::size_t landlock_rule_count = 0;
  const ResourceLimit* limits = nullptr;
  std::size_t limit_count = 0;
  const ViewCheck* view_checks = nullptr;
  std::size_t view_check_count = 0;
  std::uint32_t umask = 022;
  bool unconfined = false;
  bool inherited = false;
  bool builtin = false;
};

// Closes `fd` whatever happens. EPERM: not a memfd sealed against every change; EFBIG: larger
// than kMaxSpecBytes; EBADMSG: malformed (a truncated record, an unknown tag, a NUL byte or a
// relative path inside a value, a value or a descriptor's place given twice, no argument, bytes after the end);
// ENOTSUP: an unknown seccomp profile.
Outcome read_spec(int fd, Spec& spec);

}  // namespace exechost::guest

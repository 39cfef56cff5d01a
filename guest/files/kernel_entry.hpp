// The names in a folder as the kernel gives them (getdents64(2)): without a heap, and without what the C library keeps.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace exechost::guest::files {

struct KernelEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

// Calls `visit` with every name, "." and ".." among them, until it says false. 0, or the errno of reading.
template <class Visit>
int for_each_name(int folder_fd, Visit visit) {
  alignas(KernelEntry) char entries[4096];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, folder_fd, entries, sizeof entries);
    if (size < 0) return errno;
    if (size == 0) return 0;
    for (long at = 0; at < size;) {
      const auto* found = reinterpret_cast<const KernelEntry*>(entries + at);
      if (!visit(found->name)) return 0;
      at += found->length;
    }
  }
}

}  // namespace exechost::guest::files

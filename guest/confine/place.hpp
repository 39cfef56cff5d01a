// Opens a path that names a place and nothing else.
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace exechost::guest {

// An O_PATH descriptor, or -1 with errno. A symlink anywhere in the path is ELOOP: the paths that come
// from the core have none, so it was put there in the meantime. (A kernel before 5.6 follows them.)
inline int open_place(const char* path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const auto fd = static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
  if (fd >= 0 || errno != ENOSYS) return fd;
  return ::open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
}

}  // namespace exechost::guest

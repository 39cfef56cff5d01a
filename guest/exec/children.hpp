// The children of this process, as the kernel lists them.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace exechost::guest {

// Of the thread that opened it: guests have one.
class ChildList {
 public:
  // False without CONFIG_PROC_CHILDREN or /proc. Before confinement, which may hide /proc.
  bool open() {
    fd_ = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    return fd_ >= 0;
  }
  bool is_open() const { return fd_ >= 0; }

  // Calls `visit(pid)` for each. Our own children can't be reused pids, as nobody but us reaps them.
  template <class Visit>
  void for_each(Visit visit) const {
    if (fd_ < 0 || ::lseek(fd_, 0, SEEK_SET) != 0) return;
    // The kernel writes "PID PID ... " with a space behind each. A number is used only when its
    // space has been seen: half a number would be somebody else's process.
    pid_t pid = 0;
    char buffer[4096];
    for (;;) {
      const ssize_t size = ::read(fd_, buffer, sizeof buffer);
      if (size <= 0) return;
      for (ssize_t i = 0; i < size; ++i) {
        if (buffer[i] >= '0' && buffer[i] <= '9') {
          pid = pid * 10 + (buffer[i] - '0');
        } else {
          if (pid > 1) visit(pid);
          pid = 0;
        }
      }
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace exechost::guest

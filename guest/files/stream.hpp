// Buffered bytes in and out, for the built-ins.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace exechost::guest::files {

inline constexpr std::size_t kBufferBytes = 64UL * 1024;

// All of it, or the errno. Blocks.
inline int write_fully(int fd, const char* bytes, std::size_t size) {
  while (size != 0) {
    const ssize_t count = ::write(fd, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EIO;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return 0;
}

// 0; EPIPE when the input ends before; the errno.
inline int read_fully(int fd, char* bytes, std::size_t size) {
  while (size != 0) {
    const ssize_t count = ::read(fd, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EPIPE;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return 0;
}

// Small pieces put together on their way out.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  int add(const char* bytes, std::size_t size) {
    while (size != 0) {
      if (used_ == sizeof buffer_) {
        if (const int error = flush(); error != 0) return error;
      }
      const std::size_t part = size < sizeof buffer_ - used_ ? size : sizeof buffer_ - used_;
      std::memcpy(buffer_ + used_, bytes, part);
      used_ += part;
      bytes += part;
      size -= part;
    }
    return 0;
  }
  int flush() {
    const int error = write_fully(fd_, buffer_, used_);
    used_ = 0;
    return error;
  }

 private:
  int fd_;
  std::size_t used_ = 0;
  char buffer_[kBufferBytes];
};

}  // namespace exechost::guest::files

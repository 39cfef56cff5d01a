// Pipes, children and waiting for the keeper's tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/unique_fd.hpp"

namespace exechost::test {

inline constexpr int kPatience = 20'000;  // ms; a bound for what has to come, never a pause

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

inline bool becomes_readable(int fd, int milliseconds = kPatience) {
  pollfd entry{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// Everything until end-of-file.
inline std::string read_all(int fd) {
  std::string text;
  char buffer[65536];
  while (becomes_readable(fd)) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ADD_FAILURE() << "no end-of-file in time";
  return text;
}

inline std::string read_line(int fd) {
  std::string text;
  char byte = 0;
  while (becomes_readable(fd) && ::read(fd, &byte, 1) == 1 && byte != '\n') text += byte;
  return text;
}

// Waits for a condition that has no descriptor (a process of somebody else gone, say).
template <class Condition>
bool eventually(Condition condition, int milliseconds = kPatience) {
  const std::int64_t deadline = deadline_after(std::chrono::milliseconds(milliseconds));
  while (!condition()) {
    if (monotonic_now_ns() > deadline) return false;
    ::poll(nullptr, 0, 2);
  }
  return true;
}

}  // namespace exechost::test

// The file that the probe's heartbeat writes to every 10 ms as long as it lives.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>

#include <chrono>
#include <string>

#include "core/base/unique_fd.hpp"

namespace exechost::test {

// True when somebody writes to `path` within `patience`.
inline bool still_written(const std::string& path, std::chrono::milliseconds patience) {
  const UniqueFd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  EXPECT_GE(inotify_add_watch(watch.get(), path.c_str(), IN_MODIFY), 0);
  pollfd fd{watch.get(), POLLIN, 0};
  return poll(&fd, 1, static_cast<int>(patience.count())) > 0;
}

}  // namespace exechost::test

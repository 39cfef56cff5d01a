// Waits until something is made in a folder.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>

#include <string>

#include "core/base/unique_fd.hpp"

namespace exechost::test {

// Sees what is made from now on.
class Made {
 public:
  explicit Made(const std::string& folder) : watch_(::inotify_init1(IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(watch_.get(), folder.c_str(), IN_CREATE), 0);
  }
  bool wait() const {
    pollfd made{watch_.get(), POLLIN, 0};
    return ::poll(&made, 1, 20'000) == 1;
  }

 private:
  UniqueFd watch_;
};

}  // namespace exechost::test

// Tells whether a process of a command still lives, without looking at its processes: it holds the writing end of a
// FIFO, and the last holder's end is an event.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "core/base/unique_fd.hpp"

namespace exechost::test {

// A FIFO in a folder where the command may write. For shells: "exec 9> PATH; echo >&9", and whatever is started
// afterwards holds it, too.
class Witness {
 public:
  explicit Witness(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    fifo_.reset(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(fifo_);
  }
  const std::string& path() const { return path_; }
  // Starts a shell with these words.
  std::string hold() const { return "exec 9> " + path_ + "; echo >&9; "; }

  // Waits until somebody who holds it has said so.
  bool wait_held() const {
    char line[1];
    return ready(20'000) && ::read(fifo_.get(), line, 1) == 1;
  }
  // Waits until no holder is left.
  bool wait_let_go() const {
    char some[256];
    while (ready(20'000)) {
      const ssize_t size = ::read(fifo_.get(), some, sizeof some);
      if (size <= 0) return size == 0;
    }
    return false;
  }
  // No holder is left at this moment. What they wrote is dropped.
  bool let_go() const {
    char some[256];
    while (ready(0)) {
      const ssize_t size = ::read(fifo_.get(), some, sizeof some);
      if (size <= 0) return size == 0;
    }
    return false;
  }

 private:
  bool ready(int milliseconds) const {
    pollfd event{fifo_.get(), POLLIN, 0};
    return ::poll(&event, 1, milliseconds) == 1;
  }

  std::string path_;
  UniqueFd fifo_;
};

// The other way: a command that waits until the test lets it go on. For shells: "read -r word < PATH".
class Barrier {
 public:
  explicit Barrier(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    // For reading, too: so this doesn't wait for the command, and the command's end is no SIGPIPE here.
    fifo_.reset(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_TRUE(fifo_);
  }
  std::string wait() const { return "read -r word < " + path_ + "; "; }
  void open() const { EXPECT_EQ(::write(fifo_.get(), "go\n", 3), 3); }

 private:
  std::string path_;
  UniqueFd fifo_;
};

}  // namespace exechost::test

#include "cli/terminal.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "core/base/unique_fd.hpp"

namespace exechost::cli {
namespace {

class RawTerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    int master = -1;
    int slave = -1;
    ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0) << std::strerror(errno);
    master_.reset(master);
    slave_.reset(slave);
  }
  bool is_raw() const {
    termios now{};
    EXPECT_EQ(::tcgetattr(slave_.get(), &now), 0);
    return (now.c_lflag & (ICANON | ECHO | ISIG)) == 0;
  }
  UniqueFd master_;
  UniqueFd slave_;
};

TEST_F(RawTerminalTest, IsRawWhileItLivesAndAsBeforeAfterwards) {
  termios before{};
  ::tcgetattr(slave_.get(), &before);
  {
    const RawTerminal terminal(slave_.get());
    EXPECT_TRUE(is_raw());
  }
  termios after{};
  ::tcgetattr(slave_.get(), &after);
  EXPECT_EQ(before.c_iflag, after.c_iflag);
  EXPECT_EQ(before.c_oflag, after.c_oflag);
  EXPECT_EQ(before.c_lflag, after.c_lflag);
  EXPECT_EQ(before.c_cflag, after.c_cflag);
}

TEST_F(RawTerminalTest, CanBeLeftAndEnteredAgain) {
  const RawTerminal terminal(slave_.get());
  terminal.restore();
  EXPECT_FALSE(is_raw());
  terminal.enter();
  EXPECT_TRUE(is_raw());
}

TEST_F(RawTerminalTest, IsRestoredWhenTheProgramDiesOfAFault) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const RawTerminal terminal(slave_.get());
    if (!is_raw()) ::_exit(1);
    ::abort();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
  EXPECT_FALSE(is_raw());
}

TEST_F(RawTerminalTest, LeavesWhatIsNoTerminalAlone) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const UniqueFd reader(pipes[0]);
  const UniqueFd writer(pipes[1]);
  const RawTerminal terminal(reader.get());
  terminal.restore();
  terminal.enter();
}

}  // namespace
}  // namespace exechost::cli

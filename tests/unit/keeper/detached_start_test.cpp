// A detached keeper that dies before it listens: those who found its place taken hear of it, and find the place free.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/unique_fd.hpp"
#include "exechost_test_paths.hpp"
#include "tests/unit/keeper/support.hpp"

namespace exechost::test {
namespace {

// The program as it is started for a detached keeper, stopped where it has just forked that.
class StoppedStart {
 public:
  explicit StoppedStart(const std::string& folder) {
    const std::string program = EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper";
    const std::string ledger = folder + "/ledger";
    const std::string keepers = folder + "/keepers";
    starter_ = ::fork();
    if (starter_ == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::execl(program.c_str(), program.c_str(), "--ledger", ledger.c_str(), "--guest", "/nowhere", "--detached",
              keepers.c_str(), "--name", "shared", nullptr);
      ::_exit(127);
    }
    int status = 0;
    if (::waitpid(starter_, &status, 0) != starter_) return;
    if (!WIFSTOPPED(status)) {
      starter_ = -1;
      return;
    }
    ::ptrace(PTRACE_SETOPTIONS, starter_, nullptr, PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL);
    while (WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_FORK << 8)) {
      ::ptrace(PTRACE_CONT, starter_, nullptr, nullptr);
      if (::waitpid(starter_, &status, 0) != starter_) return;
    }
    unsigned long child = 0;
    if (WIFSTOPPED(status) && ::ptrace(PTRACE_GETEVENTMSG, starter_, nullptr, &child) == 0) {
      keeper_ = static_cast<pid_t>(child);
    }
  }
  StoppedStart(const StoppedStart&) = delete;
  StoppedStart& operator=(const StoppedStart&) = delete;
  ~StoppedStart() {
    for (const pid_t pid : {keeper_, starter_}) {
      if (pid <= 0) continue;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, __WALL);
    }
  }

  bool is_there() const { return keeper_ > 0; }
  // The one that was forked has ended when this returns.
  void kill_keeper() {
    ::kill(keeper_, SIGKILL);
    int status = 0;
    while (::waitpid(keeper_, &status, __WALL) == keeper_ && WIFSTOPPED(status)) {
    }
    keeper_ = 0;
  }
  void go_on() const { ::ptrace(PTRACE_DETACH, starter_, nullptr, nullptr); }

 private:
  pid_t starter_ = -1;
  pid_t keeper_ = 0;
};

TEST(DetachedStart, OneThatDiesBeforeItListensIsHeardOf) {
  std::string folder = "/tmp/exechost-start-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  StoppedStart start(folder);
  if (!start.is_there()) GTEST_SKIP() << "a child of this process can't be traced";
  const std::string keepers = folder + "/keepers";
  const UniqueFd changes(::inotify_init1(IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(changes.get(), keepers.c_str(), IN_CLOSE_WRITE), 0);
  const UniqueFd lock(::open((keepers + "/shared.lock").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(lock);
  ASSERT_NE(::flock(lock.get(), LOCK_EX | LOCK_NB), 0) << "it is taken";

  start.kill_keeper();
  start.go_on();

  ASSERT_TRUE(becomes_readable(changes.get())) << "whoever waits for it waits in vain";
  EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0) << "it is free by then";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace exechost::test

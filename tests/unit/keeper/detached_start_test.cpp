// A detached keeper that dies while somebody wants to join it: whoever found its place taken finds it free soon.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>

#include "core/base/unique_fd.hpp"
#include "core/keeper/detached_start.hpp"
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

// A new folder.
class Place {
 public:
  Place() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }
  std::string keepers() const { return folder_ + "/keepers"; }
  std::string lock() const { return keepers() + "/shared.lock"; }

 private:
  std::string folder_ = "/tmp/exechost-start-XXXXXX";
};

TEST(DetachedStart, OneThatDiesBeforeItListensIsHeardOf) {
  const Place place;
  StoppedStart start(place.folder());
  if (!start.is_there()) GTEST_SKIP() << "a child of this process can't be traced";
  const UniqueFd changes(::inotify_init1(IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(changes.get(), place.keepers().c_str(), IN_CLOSE_WRITE), 0);
  const UniqueFd lock(::open(place.lock().c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(lock);
  ASSERT_NE(::flock(lock.get(), LOCK_EX | LOCK_NB), 0) << "it is taken";

  start.kill_keeper();
  start.go_on();

  ASSERT_TRUE(becomes_readable(changes.get())) << "whoever waits for it waits in vain";
  EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0) << "it is free by then";
}

// Its lock is let go of after everything that can be heard.
TEST(DetachedStart, OneThatEndsWithoutAWordKeepsNobodyWaiting) {
  const Place place;
  std::filesystem::create_directory(place.keepers());
  std::filesystem::permissions(place.keepers(), std::filesystem::perms::owner_all);
  UniqueFd lock(::open(place.lock().c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  const UniqueFd looked(::inotify_init1(IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(looked.get(), place.lock().c_str(), IN_CLOSE_NOWRITE), 0);

  const auto began = std::chrono::steady_clock::now();
  auto joining = std::async(std::launch::async, [&place] {
    keeper::KeeperOptions options;
    options.ledger_folder = place.folder() + "/ledger";
    options.guest_path = EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-guest";
    return keeper::connect_detached({place.keepers(), "shared"},
                                    EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-keeper", options);
  });
  ASSERT_TRUE(becomes_readable(looked.get())) << "somebody has found it taken";
  lock.reset();

  const auto joined = joining.get();
  ASSERT_TRUE(joined) << joined.error().message;
  ASSERT_TRUE(*joined);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  ucred keeper{};
  socklen_t size = sizeof keeper;
  ASSERT_EQ(::getsockopt(joined->get(), SOL_SOCKET, SO_PEERCRED, &keeper, &size), 0);
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, keeper.pid, 0)));
  ASSERT_EQ(::kill(keeper.pid, SIGTERM), 0);
  EXPECT_TRUE(becomes_readable(ended.get()));
}

}  // namespace
}  // namespace exechost::test

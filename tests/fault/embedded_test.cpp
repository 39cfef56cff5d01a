// ExecHost inside a program that lives its own life: a gigabyte of memory, threads, a SIGCHLD handler
// and children of its own. Neither side disturbs the other.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/library_host.hpp"

namespace exechost::test {
namespace {

constexpr std::size_t kResident = 1024UL * 1024 * 1024;
constexpr int kThreads = 32;
constexpr int kForksEach = 10;
constexpr int kRuns = 40;
constexpr int kRunThreads = 4;

std::atomic<int> signals_seen = 0;
void on_child(int /*number*/) { ++signals_seen; }

class ResidentMemory {
 public:
  ResidentMemory()
      : start_(static_cast<char*>(
            ::mmap(nullptr, kResident, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (start_ == MAP_FAILED) std::abort();
    for (std::size_t at = 0; at < kResident; at += 4096) start_[at] = pattern(at);
  }
  ~ResidentMemory() { ::munmap(start_, kResident); }
  ResidentMemory(const ResidentMemory&) = delete;
  ResidentMemory& operator=(const ResidentMemory&) = delete;

  bool is_untouched() const {
    for (std::size_t at = 0; at < kResident; at += 4096) {
      if (start_[at] != pattern(at)) return false;
    }
    return true;
  }

 private:
  static char pattern(std::size_t at) { return static_cast<char>(at / 4096 * 31 + 1); }
  char* start_;
};

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

// A child of the program's own whose status nobody but the program may take.
bool own_child_is_ours(int status) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(status);
  int got = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(pid, &got, 0);
  } while (waited < 0 && errno == EINTR);
  return waited == pid && WIFEXITED(got) && WEXITSTATUS(got) == status;
}

// With the keeper that is the library's default, a child: one in this process would have to fork a
// gigabyte for each command.
class Embedded : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_handler = on_child;
    ASSERT_EQ(::sigaction(SIGCHLD, &action, &before_), 0);
  }
  void TearDown() override { ::sigaction(SIGCHLD, &before_, nullptr); }

  struct sigaction before_ {};
};

TEST_F(Embedded, NeitherSideDisturbsTheOther) {
  const auto scene = own_scene();
  const ResidentMemory memory;
  const std::size_t descriptors = entries_of("/proc/self/fd");
  std::thread([] {}).join();  // with the first thread a sanitizer starts one of its own
  const std::size_t threads = entries_of("/proc/self/task");
  const std::string folder = std::filesystem::current_path();
  sigset_t mask_before;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &mask_before), 0);
  signals_seen = 0;
  std::atomic<int> bad_children = 0;
  std::atomic<int> bad_runs = 0;
  {
    ExecHost host(host_options(*scene, KeeperPlacement::child));
    std::vector<std::thread> all;
    for (int thread = 0; thread < kThreads; ++thread) {
      all.emplace_back([&, thread] {
        for (int i = 0; i < kForksEach; ++i) {
          const std::string work(static_cast<std::size_t>(1000 + i), 'x');
          if (!own_child_is_ours((thread + i + static_cast<int>(work.size())) % 100)) ++bad_children;
        }
      });
    }
    for (int thread = 0; thread < kRunThreads; ++thread) {
      all.emplace_back([&, thread] {
        for (int i = 0; i < kRuns / kRunThreads; ++i) {
          const int code = (thread * 10 + i) % 100;
          const ExecResult result =
              host.run(shell_request("echo " + std::to_string(code) + "; exit " + std::to_string(code)));
          if (result.status != Status::exited || result.exit_code != code ||
              result.out.data != std::to_string(code) + "\n") {
            ++bad_runs;
            ADD_FAILURE() << result.to_json();
          }
        }
      });
    }
    for (std::thread& thread : all) thread.join();

    struct sigaction now {};
    ASSERT_EQ(::sigaction(SIGCHLD, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, &on_child);
  }
  EXPECT_EQ(bad_children, 0);
  EXPECT_EQ(bad_runs, 0);
  EXPECT_GT(signals_seen, 0);
  EXPECT_TRUE(memory.is_untouched());
  EXPECT_EQ(std::filesystem::current_path(), folder);
  sigset_t mask_after;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &mask_after), 0);
  for (int number = 1; number < NSIG; ++number) {
    EXPECT_EQ(::sigismember(&mask_after, number), ::sigismember(&mask_before, number)) << number;
  }
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child of ExecHost's is left to the program";
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace exechost::test

// Many runs at once from one ExecHost: right results, no thread per run.
#include <gmock/gmock.h>
#include <condition_variable>
#include <mutex>

#include "tests/support/library_host.hpp"

namespace exechost::test {
namespace {

constexpr int kRuns = 64;

// How many commands have said that they are up.
class UpCounter {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait_for(int count, std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class Concurrency : public ::testing::TestWithParam<KeeperPlacement> {};

TEST_P(Concurrency, ResultsAreRightAndThreadsStayFew) {
  become_subreaper();
  const auto scene = own_scene();
  {
    ExecHost host(host_options(*scene, GetParam()));
    UpCounter up;
    // Each waits, when it is up, for a line of input: all of them are there at the same time.
    const auto start = [&](int number) {
      const std::string n = std::to_string(number);
      Request request = sh_request("echo up " + n + "; read go; echo $go " + n + " >&2; exit " + n);
      request.standard_input.kind = StdinSource::Kind::stream;
      request.on_output = [&up](StdStream stream, std::string_view) {
        if (stream == StdStream::out) up.add();
      };
      return host.start(request);
    };

    std::vector<Execution> running;
    auto first = start(0);
    ASSERT_TRUE(first) << first.error().message;
    running.push_back(std::move(*first));
    ASSERT_TRUE(up.wait_for(1, std::chrono::seconds(20)));
    const long threads_with_one = status_number(getpid(), "Threads");

    for (int number = 1; number < kRuns; ++number) {
      auto execution = start(number);
      ASSERT_TRUE(execution) << execution.error().message;
      running.push_back(std::move(*execution));
    }
    ASSERT_TRUE(up.wait_for(kRuns, std::chrono::seconds(60)));
    const long threads_with_all = status_number(getpid(), "Threads");
    for (auto& execution : running) {
      const auto taken = execution.write_stdin("go\n");
      ASSERT_TRUE(taken) << taken.error().message;
      EXPECT_EQ(*taken, 3u);
    }

    for (int number = 0; number < kRuns; ++number) {
      const ExecResult& result = running[static_cast<std::size_t>(number)].wait();
      EXPECT_EQ(result.status, Status::exited) << (result.failure ? result.failure->message : "");
      EXPECT_EQ(result.exit_code, number);
      EXPECT_EQ(result.out.data, "up " + std::to_string(number) + "\n");
      EXPECT_EQ(result.err.data, "go " + std::to_string(number) + "\n");
    }
    // In process the keeper's pool of workers counts too; it has 16 at most.
    const long allowed = GetParam() == KeeperPlacement::child ? 0 : 16;
    EXPECT_LE(threads_with_all, threads_with_one + allowed);
  }
  const auto left = running_descendants(std::chrono::milliseconds(0));
  EXPECT_TRUE(left.empty()) << to_text(left);
}

INSTANTIATE_TEST_SUITE_P(Placement, Concurrency, ::testing::Values(KeeperPlacement::child, KeeperPlacement::in_process),
                         [](const auto& tested) {
                           return std::string(tested.param == KeeperPlacement::child ? "child" : "in_process");
                         });

}  // namespace
}  // namespace exechost::test

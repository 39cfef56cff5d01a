#include "cli/signal_watcher.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace exechost::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 10s;

class Recorder final : public SignalReceiver {
 public:
  explicit Recorder(bool can_forward = true) : can_forward_(can_forward) {}
  bool forward(int number) override {
    record("forward " + std::to_string(number));
    return can_forward_;
  }
  void cancel(int first_signal) override { record("cancel " + std::to_string(first_signal)); }
  void window_changed() override { record("window"); }
  void suspend() override { record("suspend"); }

  // The events so far, once there are `count` of them.
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return events_.size() >= count; });
    return events_;
  }

 private:
  void record(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  bool can_forward_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

using Events = std::vector<std::string>;

class SignalWatcherFor : public testing::TestWithParam<int> {};

TEST_P(SignalWatcherFor, TheFirstIsPassedOnTheSecondKills) {
  const int number = GetParam();
  Recorder recorder;
  SignalWatcher watcher(false);
  watcher.start(recorder, 1h);
  ::kill(::getpid(), number);
  EXPECT_EQ(recorder.wait_for(1), (Events{"forward " + std::to_string(number)}));
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(recorder.wait_for(2), (Events{"forward " + std::to_string(number), "cancel " + std::to_string(number)}));
  EXPECT_EQ(watcher.stop(), number);
}
INSTANTIATE_TEST_SUITE_P(Each, SignalWatcherFor, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT));

TEST(SignalWatcher, WithoutDescriptorsItSaysSoAndStops) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  Recorder recorder;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  SignalWatcher watcher(false);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const auto started = watcher.start(recorder, 1h);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().error_number, EMFILE);
  EXPECT_NE(started.error().hint.find("RLIMIT_NOFILE"), std::string::npos);
  EXPECT_EQ(watcher.stop(), 0);
}

TEST(SignalWatcher, TheEndOfTheGraceTimeKills) {
  Recorder recorder;
  SignalWatcher watcher(false);
  watcher.start(recorder, 20ms);
  const auto begin = std::chrono::steady_clock::now();
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(recorder.wait_for(2), (Events{"forward 2", "cancel 2"}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

TEST(SignalWatcher, WhatCanNotBePassedOnCancelsAtOnce) {
  Recorder recorder(false);
  SignalWatcher watcher(false);
  watcher.start(recorder, 1h);
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(recorder.wait_for(2), (Events{"forward 15", "cancel 15"}));
}

TEST(SignalWatcher, WithoutASignalNothingIsCalled) {
  Recorder recorder;
  SignalWatcher watcher(false);
  watcher.start(recorder, 1ms);
  EXPECT_EQ(watcher.stop(), 0);
  EXPECT_EQ(recorder.wait_for(0), Events{});
}

TEST(SignalWatcher, ASignalThatCameBeforeTheStartIsNotLost) {
  Recorder recorder;
  SignalWatcher watcher(false);
  ::kill(::getpid(), SIGINT);
  watcher.start(recorder, 1h);
  EXPECT_EQ(recorder.wait_for(1), (Events{"forward 2"}));
}

TEST(SignalWatcher, TheTerminalsOwnSignalsComeWithTheTerminal) {
  Recorder recorder;
  SignalWatcher watcher(true);
  watcher.start(recorder, 1h);
  ::kill(::getpid(), SIGWINCH);
  ASSERT_EQ(recorder.wait_for(1), (Events{"window"}));
  ::kill(::getpid(), SIGTSTP);
  EXPECT_EQ(recorder.wait_for(2), (Events{"window", "suspend"}));
  EXPECT_EQ(watcher.stop(), 0);
}

TEST(SignalWatcher, WhatWasIgnoredStaysIgnored) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignore, &before);
  {
    Recorder recorder;
    SignalWatcher watcher(false);
    watcher.start(recorder, 1h);
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGINT);
    EXPECT_EQ(recorder.wait_for(1), (Events{"forward 2"}));
  }
  ::sigaction(SIGHUP, &before, nullptr);
}

TEST(SignalWatcher, TheMaskIsAsItWas) {
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  { SignalWatcher watcher(true); }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int number = 1; number < 32; ++number)
    EXPECT_EQ(sigismember(&before, number), sigismember(&after, number)) << number;
}

}  // namespace
}  // namespace exechost::cli

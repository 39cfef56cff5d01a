// The streams of a whole run: what reaches the result, the callback and the caller.
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>

#include "support.hpp"

namespace exechost::execution {
namespace {

using test::FakeExecution;
using test::noise;
using test::RunHarness;
using namespace std::chrono_literals;

class RunStreamsTest : public ::testing::Test {
 protected:
  // The command: runs on a thread of its own with the three descriptors, then exits 0.
  void command(std::function<void(FakeExecution&)> body) {
    harness.keeper->on_spawn = [this, body = std::move(body)](FakeExecution& execution) {
      execution.confined();
      execution.started();
      thread_ = std::thread([this, &execution, body] {
        body(execution);
        execution.close_streams();
        harness.reactor.post([&execution] {
          execution.exited(0);
          execution.gone();
        });
      });
    };
  }
  void TearDown() override {
    if (thread_.joinable()) thread_.join();
  }
  std::shared_ptr<SharedFd> shared(int fd, SharedFd::Use use) {
    return *SharedFd::open(harness.reactor.context(), fd, use);
  }

  RunHarness harness;

 private:
  std::thread thread_;
};

TEST_F(RunStreamsTest, BothStreamsAreExactAndApart) {
  const std::string out = noise(700'000, 1);
  const std::string err = noise(400'000, 2);
  command([&](FakeExecution& execution) {
    std::thread other([&] { test::write_all(execution.stdio[2].get(), err); });
    test::write_all(execution.stdio[1].get(), out);
    other.join();
  });
  const ExecResult result = harness.run();
  EXPECT_TRUE(result.out.data == out);
  EXPECT_TRUE(result.err.data == err);
  EXPECT_FALSE(result.pipes_held_open);
}

TEST_F(RunStreamsTest, InputIsEchoedExactly) {
  harness.spec.streams.input.bytes = std::make_shared<const std::string>(noise(900'000));
  command([](FakeExecution& execution) {
    test::write_all(execution.stdio[1].get(), test::read_to_end(execution.stdio[0].get()));
  });
  EXPECT_TRUE(harness.run().out.data == *harness.spec.streams.input.bytes);
}

TEST_F(RunStreamsTest, WithoutInputTheCommandReadsTheEndAtOnce) {
  command([](FakeExecution& execution) {
    test::write_all(execution.stdio[1].get(), "[" + test::read_to_end(execution.stdio[0].get()) + "]");
  });
  EXPECT_EQ(harness.run().out.data, "[]");
}

// An attempt that never started its command has taken nothing of the input, so that the next
// backend gets all of it.
TEST_F(RunStreamsTest, NothingOfTheInputIsTakenBeforeTheStart) {
  auto pipe = test::make_pipe();
  test::write_all(pipe.write.get(), "precious");
  harness.spec.streams.input.descriptor = shared(pipe.read.get(), SharedFd::Use::read);
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.failed(FailureKind::provision_failed, Started::no);
  };
  EXPECT_EQ(harness.run().started, Started::no);
  pipe.write.reset();
  EXPECT_EQ(test::read_to_end(pipe.read.get()), "precious");
}

TEST_F(RunStreamsTest, NoneOfTheDescriptorsIsTheCallers) {
  auto input = test::make_pipe();
  auto output = test::make_pipe();
  input.write.reset();
  harness.spec.streams.input.descriptor = shared(input.read.get(), SharedFd::Use::read);
  harness.spec.streams.out = shared(output.write.get(), SharedFd::Use::write);
  const auto inode = [](int fd) {
    struct stat info {};
    EXPECT_EQ(::fstat(fd, &info), 0);
    return std::pair(info.st_dev, info.st_ino);
  };
  std::vector<std::pair<dev_t, ino_t>> seen;
  std::vector<int> flags;
  command([&](FakeExecution& execution) {
    for (const UniqueFd& fd : execution.stdio) {
      seen.push_back(inode(fd.get()));
      flags.push_back(::fcntl(fd.get(), F_GETFL) & O_NONBLOCK);
    }
  });
  harness.run();
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& identity : seen) {
    EXPECT_NE(identity, inode(input.read.get()));
    EXPECT_NE(identity, inode(output.write.get()));
  }
  EXPECT_EQ(flags, (std::vector{0, 0, 0})) << "a command expects descriptors that block";
}

TEST_F(RunStreamsTest, TheCallersDescriptorsGetEverythingEvenWhenTheReaderIsLate) {
  auto slow = test::make_pipe();
  harness.spec.streams.out = shared(slow.write.get(), SharedFd::Use::write);
  slow.write.reset();
  const std::string bytes = noise(180'000);  // more than the caller's pipe holds
  command([&](FakeExecution& execution) { test::write_all(execution.stdio[1].get(), bytes); });
  harness.limits.drain = 10ms;
  harness.start();
  EXPECT_FALSE(harness.done_within(100ms)) << "a run is not over while its output is on its way";
  harness.spec.streams.out.reset();
  std::string got(bytes.size(), '\0');
  for (std::size_t at = 0; at < got.size();) {
    const ssize_t count = ::read(slow.read.get(), got.data() + at, got.size() - at);
    ASSERT_GT(count, 0);
    at += static_cast<std::size_t>(count);
  }
  EXPECT_TRUE(got == bytes);
  const ExecResult result = harness.result();
  EXPECT_EQ(result.status, Status::exited);
  EXPECT_TRUE(result.warnings.empty());
}

TEST_F(RunStreamsTest, ADeadlineEndsTheWaitForALateReader) {
  auto stuck = test::make_pipe();
  harness.spec.streams.out = shared(stuck.write.get(), SharedFd::Use::write);
  const std::string bytes = noise(120'000);
  command([&](FakeExecution& execution) { test::write_all(execution.stdio[1].get(), bytes); });
  harness.spec.deadline_ns = deadline_after(400ms);
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::exited) << "the command itself had ended in time";
  EXPECT_EQ(result.out.total_bytes, bytes.size());
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings[0], ::testing::HasSubstr("not passed on"));
}

TEST_F(RunStreamsTest, AStreamThatIsHeldOpenIsGivenUpAfterTheDrain) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.confined();
    execution.started();
    test::write_all(execution.stdio[1].get(), "all there is");
    execution.exited(0);
    execution.emit(keeper::ExecutionEvent::Kind::gone);  // the streams stay open
  };
  harness.limits.drain = 50ms;
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::exited);
  EXPECT_TRUE(result.pipes_held_open);
  EXPECT_EQ(result.out.data, "all there is");
}

TEST_F(RunStreamsTest, WhatSaidSomethingHasStarted) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    test::write_all(execution.stdio[1].get(), "here");
    for (auto& fd : execution.stdio) fd.reset();
    execution.failed(FailureKind::plugin_crashed, Started::unknown);  // lost before its word that the command runs
  };
  const ExecResult result = harness.run();
  EXPECT_EQ(result.failure->kind, FailureKind::plugin_crashed);
  EXPECT_EQ(result.out.data, "here");
  EXPECT_EQ(result.started, Started::yes);
}

TEST_F(RunStreamsTest, OutputUpToATimeoutIsKept) {
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.confined();
    execution.started();
    test::write_all(execution.stdio[1].get(), "so far");
  };
  harness.spec.deadline_ns = deadline_after(50ms);
  const ExecResult result = harness.run();
  EXPECT_EQ(result.status, Status::timed_out);
  EXPECT_EQ(result.out.data, "so far");
}

TEST_F(RunStreamsTest, ATerminalIsOneStreamWithASize) {
  harness.spec.streams.tty = true;
  harness.spec.streams.rows = 33;
  harness.spec.streams.columns = 101;
  harness.spec.streams.input.bytes = std::make_shared<const std::string>("typed\n");
  winsize size{};
  command([&](FakeExecution& execution) {
    EXPECT_EQ(::isatty(execution.stdio[0].get()), 1);
    EXPECT_EQ(::ioctl(execution.stdio[1].get(), TIOCGWINSZ, &size), 0);
    std::array<char, 64> line{};
    const ssize_t count = ::read(execution.stdio[0].get(), line.data(), line.size());
    test::write_all(execution.stdio[1].get(), "got " + std::string(line.data(), static_cast<std::size_t>(count)));
    test::write_all(execution.stdio[2].get(), "err");
  });
  const ExecResult result = harness.run();
  EXPECT_EQ(size.ws_row, 33);
  EXPECT_EQ(size.ws_col, 101);
  EXPECT_THAT(result.out.data, ::testing::HasSubstr("got typed\r\n"));
  EXPECT_THAT(result.out.data, ::testing::EndsWith("err"));
  EXPECT_EQ(result.err.total_bytes, 0u);
}

TEST_F(RunStreamsTest, ResizeChangesTheTerminal) {
  harness.spec.streams.tty = true;
  harness.keeper->on_spawn = [](FakeExecution& execution) {
    execution.confined();
    execution.started();
  };
  harness.start();
  ASSERT_TRUE(harness.spawned());
  winsize size{};
  harness.with_execution([&](FakeExecution& execution) {
    EXPECT_TRUE(harness.the_run->resize(50, 132));
    EXPECT_EQ(::ioctl(execution.stdio[0].get(), TIOCGWINSZ, &size), 0);
    execution.exited(0);
    execution.gone();
  });
  harness.result();
  EXPECT_EQ(size.ws_row, 50);
  EXPECT_EQ(size.ws_col, 132);
}

}  // namespace
}  // namespace exechost::execution

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <csignal>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core/execution/pipes.hpp"
#include "core/execution/pty.hpp"
#include "core/execution/stream_pump.hpp"
#include "support.hpp"

namespace exechost::execution {
namespace {

using test::Event;
using test::make_pipe;
using test::noise;
using test::on_reactor;

class PumpTest : public ::testing::Test {
 protected:
  void SetUp() override { options.cap_bytes = 1024UL * 1024; }

  // Starts a pump; returns the command's end of its pipe.
  UniqueFd start() {
    auto pipe = make_output_pipe();
    EXPECT_TRUE(pipe);
    start_on(std::move(pipe->ours));
    return std::move(pipe->commands);
  }
  void start_on(UniqueFd source) {
    auto shared = std::make_shared<UniqueFd>(std::move(source));
    on_reactor(reactor, [&, shared] {
      pump = std::make_shared<StreamPump>(reactor.context(), std::move(*shared), options);
      pump->start([this] {
        if (!pump->reading() && !pump->delivering() && !ended_) {
          ended_ = true;
          ended.set();
        }
      });
      return 0;
    });
  }
  CapturedStream take() {
    EXPECT_TRUE(ended.wait());
    return on_reactor(reactor, [&] { return pump->take(); });
  }
  std::shared_ptr<SharedFd> sink(int fd) {
    auto shared = SharedFd::open(reactor.context(), fd, SharedFd::Use::write);
    EXPECT_TRUE(shared) << describe(shared.error());
    return *shared;
  }
  void TearDown() override {
    on_reactor(reactor, [&] {
      if (pump) pump->stop_reading();
      pump.reset();
      options = {};  // its sink belongs to the reactor
      return 0;
    });
  }

  PumpOptions options;
  Event ended;
  std::shared_ptr<StreamPump> pump;
  Reactor reactor;

 private:
  bool ended_ = false;
};

TEST_F(PumpTest, BytesAreExact) {
  const std::string bytes = noise(3'000'001);
  options.cap_bytes = 8UL * 1024 * 1024;
  UniqueFd end = start();
  test::write_all(end.get(), bytes);
  end.reset();
  const CapturedStream stream = take();
  EXPECT_TRUE(stream.data == bytes);
  EXPECT_EQ(stream.total_bytes, bytes.size());
  EXPECT_EQ(stream.dropped_bytes, 0u);
}

TEST_F(PumpTest, TheCallbackGetsEveryByteInOrder) {
  const std::string bytes = noise(500'000);
  std::string seen;
  options.stream = StdStream::err;
  options.on_output = [&](StdStream stream, std::string_view piece) {
    EXPECT_EQ(stream, StdStream::err);
    seen += piece;
  };
  options.cap_bytes = 10;
  UniqueFd end = start();
  test::write_all(end.get(), bytes);
  end.reset();
  EXPECT_EQ(take().total_bytes, bytes.size());
  EXPECT_TRUE(seen == bytes);
}

TEST_F(PumpTest, ACallbackThatThrowsIsNotCalledAgainAndTheStreamGoesOn) {
  int calls = 0;
  options.on_output = [&](StdStream, std::string_view) {
    ++calls;
    throw std::runtime_error("no");
  };
  UniqueFd end = start();
  test::write_all(end.get(), noise(200'000));
  end.reset();
  EXPECT_EQ(take().total_bytes, 200'000u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(pump->warnings().size(), 1u);
}

TEST_F(PumpTest, ASlowSinkHoldsTheCommandBackAndGetsEverything) {
  auto slow = make_pipe();
  options.sink = sink(slow.write.get());
  slow.write.reset();
  options.cap_bytes = 1000;
  UniqueFd end = start();
  const std::string bytes = noise(2'000'000);
  std::thread command([&] {
    test::write_all(end.get(), bytes);
    end.reset();
  });
  // Nobody reads the sink: the pump comes to rest, and the command with it.
  const auto held = [&] { return on_reactor(reactor, [&] { return pump->held_back(); }); };
  const auto until = std::chrono::steady_clock::now() + test::kPatience;
  while (!held() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  ASSERT_TRUE(held());
  options.sink.reset();
  std::string got(bytes.size(), '\0');
  for (std::size_t at = 0; at < got.size();) {
    const ssize_t count = ::read(slow.read.get(), got.data() + at, std::min<std::size_t>(4096, got.size() - at));
    ASSERT_GT(count, 0);
    at += static_cast<std::size_t>(count);
  }
  command.join();
  EXPECT_TRUE(got == bytes);
  EXPECT_EQ(take().total_bytes, bytes.size());
}

TEST_F(PumpTest, DrainingReadsOnWithoutTheSink) {
  auto stuck = make_pipe();
  options.sink = sink(stuck.write.get());
  UniqueFd end = start();
  const std::string bytes = noise(150'000);
  std::thread command([&] {
    test::write_all(end.get(), bytes);
    end.reset();
  });
  const auto until = std::chrono::steady_clock::now() + test::kPatience;
  while (!on_reactor(reactor, [&] { return pump->held_back(); }) && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  on_reactor(reactor, [&] {
    pump->drain();
    return 0;
  });
  command.join();
  while (on_reactor(reactor, [&] { return pump->reading(); })) std::this_thread::yield();
  EXPECT_TRUE(on_reactor(reactor, [&] { return pump->delivering(); }));
  on_reactor(reactor, [&] {
    pump->abandon_delivery();
    EXPECT_FALSE(pump->delivering());
    EXPECT_EQ(pump->take().data, bytes);
    EXPECT_EQ(pump->warnings().size(), 1u) << "what was not delivered is said";
    return 0;
  });
}

TEST_F(PumpTest, AReaderThatGoesAwayDoesNotStopTheCount) {
  auto gone = make_pipe();
  options.sink = sink(gone.write.get());
  gone.read.reset();
  UniqueFd end = start();
  test::write_all(end.get(), noise(300'000));
  end.reset();
  EXPECT_EQ(take().total_bytes, 300'000u);
  EXPECT_TRUE(pump->warnings().empty());
}

TEST_F(PumpTest, OrTheCommandLosesItsReaderToo) {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  auto gone = make_pipe();
  options.sink = sink(gone.write.get());
  options.ends_with_reader = true;
  gone.read.reset();
  UniqueFd end = start();
  const std::string bytes = noise(65'536);
  ssize_t written = 0;
  while ((written = ::write(end.get(), bytes.data(), bytes.size())) > 0) {
  }
  EXPECT_EQ(written, -1);
  EXPECT_EQ(errno, EPIPE) << "as if the command had the pipe itself";
  EXPECT_FALSE(on_reactor(reactor, [&] { return pump->reading(); }));
}

TEST_F(PumpTest, AFailingSinkIsToldOnce) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  options.sink = sink(full.get());
  UniqueFd end = start();
  test::write_all(end.get(), noise(300'000));
  end.reset();
  const CapturedStream taken = take();
  EXPECT_EQ(taken.total_bytes, 300'000u);
  EXPECT_THAT(taken.undelivered, ::testing::HasSubstr("No space left"));
  EXPECT_THAT(pump->warnings(), ::testing::ElementsAre(taken.undelivered));
}

TEST_F(PumpTest, ARegularFileAsSinkIsAppendedWhereTheCallerStood) {
  const test::ScratchFolder scratch;
  const UniqueFd file(::open(scratch.file("log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  test::write_all(file.get(), "before ");
  options.sink = sink(file.get());
  UniqueFd end = start();
  test::write_all(end.get(), "output");
  end.reset();
  take();
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(test::read_to_end(file.get()), "before output");
}

TEST_F(PumpTest, SpillsTheWholeStreamOnceItIsCut) {
  const test::ScratchFolder scratch;
  options.cap_bytes = 100;
  options.spill_folder = scratch.path();
  UniqueFd end = start();
  const std::string bytes = noise(250'000);
  test::write_all(end.get(), std::string_view(bytes).substr(0, 60));
  test::write_all(end.get(), std::string_view(bytes).substr(60));
  end.reset();
  const CapturedStream stream = take();
  EXPECT_EQ(stream.dropped_bytes, bytes.size() - 100);
  const UniqueFd file(::open(stream.spill_path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file) << stream.spill_path;
  EXPECT_TRUE(test::read_to_end(file.get()) == bytes);
}

TEST_F(PumpTest, DoesNotSpillWhatWasNotCut) {
  const test::ScratchFolder scratch;
  options.cap_bytes = 100;
  options.spill_folder = scratch.file("never-made");
  UniqueFd end = start();
  test::write_all(end.get(), noise(100));
  end.reset();
  EXPECT_EQ(take().spill_path, "");
  struct stat info {};
  EXPECT_NE(::stat(options.spill_folder.c_str(), &info), 0);
}

TEST_F(PumpTest, ASpillThatFailsIsAWarningAndTheCaptureGoesOn) {
  options.cap_bytes = 100;
  options.spill_folder = "/proc/no-such-folder";
  UniqueFd end = start();
  test::write_all(end.get(), noise(1000));
  end.reset();
  const CapturedStream stream = take();
  EXPECT_EQ(stream.total_bytes, 1000u);
  EXPECT_EQ(stream.data.size(), 100u);
  EXPECT_EQ(stream.spill_path, "");
  EXPECT_EQ(pump->warnings().size(), 1u);
}

TEST_F(PumpTest, ATerminalEndsWithItsLastSlave) {
  auto pty = make_pty(24, 80);
  ASSERT_TRUE(pty);
  start_on(std::move(pty->master));
  test::write_all(pty->slave.get(), "line\n");
  pty->slave.reset();
  EXPECT_EQ(take().data, "line\r\n");
}

}  // namespace
}  // namespace exechost::execution

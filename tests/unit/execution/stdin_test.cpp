#include "core/execution/stdin_feeder.hpp"

#include <termios.h>

#include <thread>

#include "core/execution/pipes.hpp"
#include "core/execution/pty.hpp"
#include "support.hpp"

namespace exechost::execution {
namespace {

using test::make_pipe;
using test::noise;
using test::on_reactor;

class FeederTest : public ::testing::Test {
 protected:
  // Starts a feeder; returns the command's end.
  UniqueFd start(StdinInput input) {
    auto pipe = make_input_pipe();
    EXPECT_TRUE(pipe);
    start_on(std::move(pipe->ours), false, std::move(input));
    return std::move(pipe->commands);
  }
  void start_on(UniqueFd target, bool terminal, StdinInput input) {
    on_reactor(reactor, [&] {
      feeder = std::make_shared<StdinFeeder>(reactor.context(), std::move(target), terminal, std::move(input));
      feeder->start();
      return 0;
    });
  }
  void TearDown() override {
    on_reactor(reactor, [&] {
      feeder.reset();
      return 0;
    });
  }
  StdinInput from_descriptor(int fd) {
    auto shared = SharedFd::open(reactor.context(), fd, SharedFd::Use::read);
    EXPECT_TRUE(shared) << describe(shared.error());
    StdinInput input;
    input.descriptor = *shared;
    return input;
  }
  std::shared_ptr<StdinFeeder> feeder;
  Reactor reactor;
};

TEST_F(FeederTest, BytesAreExactThenTheEnd) {
  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 65535, 65536, 65537, 1'000'003}) {
    StdinInput input;
    input.bytes = std::make_shared<const std::string>(noise(size));
    const UniqueFd end = start(input);
    EXPECT_TRUE(test::read_to_end(end.get()) == *input.bytes) << size;
  }
}

TEST_F(FeederTest, ACommandThatDoesNotReadIsNoProblem) {
  StdinInput input;
  input.bytes = std::make_shared<const std::string>(noise(1'000'000));
  UniqueFd end = start(input);
  end.reset();
  on_reactor(reactor, [&] {
    feeder->stop();
    return 0;
  });
}

TEST_F(FeederTest, AStreamIsPassedOnAsItIsWritten) {
  StdinInput input;
  input.buffer = std::make_shared<StdinBuffer>();
  const UniqueFd end = start(input);
  std::array<char, 16> got{};
  ASSERT_EQ(input.buffer->write("one"), 3u);
  ASSERT_EQ(::read(end.get(), got.data(), got.size()), 3);
  ASSERT_EQ(input.buffer->write("three"), 5u);
  ASSERT_EQ(::read(end.get(), got.data(), got.size()), 5);
  input.buffer->close();
  EXPECT_EQ(::read(end.get(), got.data(), got.size()), 0);
}

TEST_F(FeederTest, ALongStreamFromAnotherThreadIsExact) {
  StdinInput input;
  input.buffer = std::make_shared<StdinBuffer>();
  const UniqueFd end = start(input);
  const std::string bytes = noise(5'000'000);
  std::thread writer([&] {
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const auto taken = input.buffer->write(rest.substr(0, 100'000));
      ASSERT_TRUE(taken);
      rest.remove_prefix(*taken);
      if (*taken == 0) std::this_thread::yield();
    }
    input.buffer->close();
  });
  const std::string got = test::read_to_end(end.get());
  writer.join();
  EXPECT_TRUE(got == bytes);
}

TEST(StdinBufferTest, TakesNoMoreThanItsCapacity) {
  StdinBuffer buffer;
  const std::string bytes(StdinBuffer::kCapacity + 10, 'x');
  EXPECT_EQ(buffer.write(bytes), StdinBuffer::kCapacity);
  EXPECT_EQ(buffer.write("x"), 0u);
  std::string taken;
  EXPECT_EQ(buffer.take(taken, 1000), StdinBuffer::Taken::bytes);
  EXPECT_EQ(buffer.write(bytes), 1000u);
  buffer.close();
  EXPECT_EQ(buffer.write("x").error().kind, FailureKind::invalid_request);
  std::size_t rest = 0;
  while (buffer.take(taken, 300'000) == StdinBuffer::Taken::bytes) rest += taken.size();
  EXPECT_EQ(rest, StdinBuffer::kCapacity);
  EXPECT_EQ(buffer.take(taken, 1), StdinBuffer::Taken::end);
}

TEST_F(FeederTest, AWriterLearnsThatTheCommandStoppedReading) {
  StdinInput input;
  input.buffer = std::make_shared<StdinBuffer>();
  UniqueFd end = start(input);
  end.reset();
  Result<std::size_t> written = 0;
  const auto until = std::chrono::steady_clock::now() + test::kPatience;
  while ((written = input.buffer->write("x")) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().error_number, EPIPE);
}

TEST_F(FeederTest, AFeederThatNeverStartedTookNothing) {
  StdinInput input;
  input.buffer = std::make_shared<StdinBuffer>();
  ASSERT_EQ(input.buffer->write("kept"), 4u);
  auto pipe = make_input_pipe();
  ASSERT_TRUE(pipe);
  on_reactor(reactor, [&] {
    StdinFeeder never(reactor.context(), std::move(pipe->ours), false, input);
    return 0;
  });
  input.buffer->close();
  const UniqueFd end = start(input);
  EXPECT_EQ(test::read_to_end(end.get()), "kept");
}

TEST_F(FeederTest, ADescriptorsBytesAreExactAndItsFlagsStay) {
  auto pipe = make_pipe();
  const int flags = ::fcntl(pipe.read.get(), F_GETFL);
  const std::string bytes = noise(2'000'000);
  const UniqueFd end = start(from_descriptor(pipe.read.get()));
  std::thread writer([&] {
    test::write_all(pipe.write.get(), bytes);
    pipe.write.reset();
  });
  const std::string got = test::read_to_end(end.get());
  writer.join();
  EXPECT_TRUE(got == bytes);
  EXPECT_EQ(::fcntl(pipe.read.get(), F_GETFL), flags);
}

TEST_F(FeederTest, ARegularFileIsReadToItsEnd) {
  const test::ScratchFolder scratch;
  const UniqueFd file(::open(scratch.file("input").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::string bytes = noise(1'500'000);
  test::write_all(file.get(), bytes);
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  const UniqueFd end = start(from_descriptor(file.get()));
  EXPECT_TRUE(test::read_to_end(end.get()) == bytes);
}

// /dev/zero never ends and is always ready: others must get their turn, and stop() must work.
TEST_F(FeederTest, AnEndlessDescriptorDoesNotHoldTheReactor) {
  const UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const UniqueFd end = start(from_descriptor(zero.get()));
  std::string got(3'000'000, 'x');
  for (std::size_t at = 0; at < got.size();) {
    const ssize_t count = ::read(end.get(), got.data() + at, got.size() - at);
    ASSERT_GT(count, 0);
    at += static_cast<std::size_t>(count);
  }
  EXPECT_EQ(got.find_first_not_of('\0'), std::string::npos);
  on_reactor(reactor, [&] {
    feeder->stop();
    return 0;
  });
  test::read_to_end(end.get());
}

// A new terminal is in canonical mode: a reader sees the end of input in place of an end of file.
class TerminalFeederTest : public FeederTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(TerminalFeederTest, GetsTheEndOfFileCharacter) {
  auto pty = make_pty(24, 80);
  ASSERT_TRUE(pty);
  // As in a run: the output's pump keeps the master open.
  const UniqueFd master(::fcntl(pty->master.get(), F_DUPFD_CLOEXEC, 3));
  StdinInput input;
  input.bytes = std::make_shared<const std::string>(GetParam());
  start_on(std::move(pty->master), true, input);
  // The character ends one read; the terminal itself stays open.
  EXPECT_EQ(test::read_to_end(pty->slave.get()), GetParam());
}
INSTANTIATE_TEST_SUITE_P(Inputs, TerminalFeederTest, ::testing::Values("", "line\n", "no newline", "a\nb"));

}  // namespace
}  // namespace exechost::execution

// Whatever the caller's descriptor is, using it changes nothing about it and never blocks.
#include "core/execution/shared_fd.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/execution/pty.hpp"
#include "support.hpp"

namespace exechost::execution {
namespace {

using test::Event;
using test::make_pipe;
using test::on_reactor;

int flags_of(int fd) { return ::fcntl(fd, F_GETFL); }

// Writes until the target takes no more; the number of bytes it took.
std::size_t fill(SharedFd& target) {
  const std::string chunk(64UL * 1024, 'x');
  std::size_t total = 0;
  for (;;) {
    const ssize_t count = target.write_some(chunk);
    if (count < 0) {
      EXPECT_EQ(errno, EAGAIN);
      return total;
    }
    total += static_cast<std::size_t>(count);
  }
}

class SharedFdTest : public ::testing::Test {
 protected:
  std::shared_ptr<SharedFd> open(int fd, SharedFd::Use use) {
    auto shared = SharedFd::open(reactor.context(), fd, use);
    EXPECT_TRUE(shared) << describe(shared.error());
    return shared ? *shared : nullptr;
  }
  Reactor reactor;
};

TEST_F(SharedFdTest, AFullPipeIsWaitedForAndItsFlagsStay) {
  auto pipe = make_pipe();
  const auto sink = open(pipe.write.get(), SharedFd::Use::write);
  const std::size_t filled = on_reactor(reactor, [&] { return fill(*sink); });
  EXPECT_GE(filled, 4096u);
  Event ready;
  on_reactor(reactor, [&] {
    sink->async_ready([&] { ready.set(); });
    return 0;
  });
  std::string drained(filled, '\0');
  for (std::size_t at = 0; at < filled;) {
    const ssize_t count = ::read(pipe.read.get(), drained.data() + at, filled - at);
    ASSERT_GT(count, 0);
    at += static_cast<std::size_t>(count);
  }
  EXPECT_TRUE(ready.wait());
  EXPECT_EQ(flags_of(pipe.write.get()) & O_NONBLOCK, 0);
}

TEST_F(SharedFdTest, ASocketIsWaitedForAndItsFlagsStay) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const auto sink = open(ours.get(), SharedFd::Use::write);
  on_reactor(reactor, [&] { return fill(*sink); });
  EXPECT_EQ(flags_of(ours.get()) & O_NONBLOCK, 0);
  const auto source = open(theirs.get(), SharedFd::Use::read);
  std::array<char, 16> buffer{};
  EXPECT_GT(on_reactor(reactor, [&] { return source->read_some(buffer); }), 0);
  EXPECT_EQ(flags_of(theirs.get()) & O_NONBLOCK, 0);
}

TEST_F(SharedFdTest, ATerminalIsWaitedForAndItsFlagsStay) {
  auto pty = make_pty(24, 80);
  ASSERT_TRUE(pty) << describe(pty.error());
  const auto sink = open(pty->slave.get(), SharedFd::Use::write);
  on_reactor(reactor, [&] { return fill(*sink); });
  EXPECT_EQ(flags_of(pty->slave.get()) & O_NONBLOCK, 0);
}

// A pipe of another user can't be opened anew: readiness and PIPE_BUF then bound each write. In a
// child, since giving up root is for good; alarm ends it if a write blocks.
TEST_F(SharedFdTest, AnotherUsersPipeIsWrittenWithoutBlocking) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto pipe = make_pipe();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    boost::asio::io_context context;
    auto sink = SharedFd::open(context, pipe.write.get(), SharedFd::Use::write);
    if (!sink) ::_exit(2);
    const std::string chunk(64UL * 1024, 'x');
    std::size_t filled = 0;
    ssize_t largest = 0;
    for (ssize_t count = 0; (count = (*sink)->write_some(chunk)) > 0;) {
      largest = std::max(largest, count);
      filled += static_cast<std::size_t>(count);
    }
    ::_exit(errno == EAGAIN && largest == 4096 && filled >= 4096 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(flags_of(pipe.write.get()) & O_NONBLOCK, 0);
}

TEST_F(SharedFdTest, ReadingAnEmptyPipeSaysAgain) {
  auto pipe = make_pipe();
  const auto source = open(pipe.read.get(), SharedFd::Use::read);
  std::array<char, 16> buffer{};
  on_reactor(reactor, [&] {
    EXPECT_EQ(source->read_some(buffer), -1);
    EXPECT_EQ(errno, EAGAIN);
    return 0;
  });
  Event ready;
  on_reactor(reactor, [&] {
    source->async_ready([&] { ready.set(); });
    return 0;
  });
  test::write_all(pipe.write.get(), "hello");
  ASSERT_TRUE(ready.wait());
  EXPECT_EQ(on_reactor(reactor, [&] { return source->read_some(buffer); }), 5);
  EXPECT_EQ(flags_of(pipe.read.get()) & O_NONBLOCK, 0);
}

TEST_F(SharedFdTest, TheEndOfAPipeWakesTheReader) {
  auto pipe = make_pipe();
  const auto source = open(pipe.read.get(), SharedFd::Use::read);
  Event ready;
  on_reactor(reactor, [&] {
    source->async_ready([&] { ready.set(); });
    return 0;
  });
  pipe.write.reset();
  ASSERT_TRUE(ready.wait());
  std::array<char, 16> buffer{};
  EXPECT_EQ(on_reactor(reactor, [&] { return source->read_some(buffer); }), 0);
}

TEST_F(SharedFdTest, ARegularFileIsAlwaysReadyAndSharesItsPosition) {
  const test::ScratchFolder scratch;
  const UniqueFd file(::open(scratch.file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  test::write_all(file.get(), "0123456789");
  ASSERT_EQ(::lseek(file.get(), 2, SEEK_SET), 2);
  const auto source = open(file.get(), SharedFd::Use::read);
  Event ready;
  on_reactor(reactor, [&] {
    source->async_ready([&] { ready.set(); });
    return 0;
  });
  ASSERT_TRUE(ready.wait());
  std::array<char, 3> buffer{};
  ASSERT_EQ(on_reactor(reactor, [&] { return source->read_some(buffer); }), 3);
  EXPECT_EQ(std::string(buffer.data(), 3), "234");
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 5) << "the caller goes on where we stopped";
}

TEST_F(SharedFdTest, AReaderThatHasGoneIsAnErrorNotASignal) {
  auto pipe = make_pipe();
  const auto sink = open(pipe.write.get(), SharedFd::Use::write);
  pipe.read.reset();
  on_reactor(reactor, [&] {
    EXPECT_EQ(sink->write_some("x"), -1);
    EXPECT_EQ(errno, EPIPE);
    return 0;
  });
}

TEST_F(SharedFdTest, CancelDropsTheHandler) {
  auto pipe = make_pipe();
  const auto source = open(pipe.read.get(), SharedFd::Use::read);
  bool first = false;
  Event second;
  on_reactor(reactor, [&] {
    source->async_ready([&] { first = true; });
    source->cancel();
    source->async_ready([&] { second.set(); });
    return 0;
  });
  test::write_all(pipe.write.get(), "x");
  ASSERT_TRUE(second.wait());
  EXPECT_FALSE(on_reactor(reactor, [&] { return first; }));
}

TEST_F(SharedFdTest, RefusesWhatCannotBeUsed) {
  auto pipe = make_pipe();
  const UniqueFd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd path_only(::open("/dev/null", O_PATH | O_CLOEXEC));
  const auto refused = [&](int fd, SharedFd::Use use, int error_number) {
    const auto shared = SharedFd::open(reactor.context(), fd, use);
    ASSERT_FALSE(shared);
    EXPECT_EQ(shared.error().kind, FailureKind::invalid_request);
    EXPECT_EQ(shared.error().error_number, error_number);
  };
  refused(pipe.read.get(), SharedFd::Use::write, EBADF);
  refused(pipe.write.get(), SharedFd::Use::read, EBADF);
  refused(folder.get(), SharedFd::Use::read, EISDIR);
  refused(path_only.get(), SharedFd::Use::read, EBADF);
  refused(1'000'000, SharedFd::Use::read, EBADF);
}

}  // namespace
}  // namespace exechost::execution

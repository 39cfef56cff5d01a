#include "output_cut.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <utility>

namespace scripted {

namespace sdk = exechost::sdk;

namespace {

void set(const sdk::Fd& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}

// False: told to stop.
bool ready(int fd, short events, int stop) {
  pollfd entries[2] = {{fd, events, 0}, {stop, POLLIN, 0}};
  while (::poll(entries, 2, -1) < 0) {
  }
  return entries[1].revents == 0;
}

}  // namespace

std::unique_ptr<OutputCut> OutputCut::make(int out, std::uint64_t bytes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  sdk::Fd from(ends[0]);
  sdk::Fd write_end(ends[1]);
  sdk::Fd to(::fcntl(out, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!to) return nullptr;
  return std::make_unique<OutputCut>(std::move(from), std::move(write_end), std::move(to), bytes);
}

OutputCut::OutputCut(sdk::Fd from, sdk::Fd write_end, sdk::Fd to, std::uint64_t bytes)
    : from_(std::move(from)),
      write_end_(std::move(write_end)),
      to_(std::move(to)),
      left_(bytes),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      done_(::eventfd(0, EFD_CLOEXEC)) {}

OutputCut::~OutputCut() {
  set(stop_);
  if (thread_.joinable()) thread_.join();
}

void OutputCut::begin() {
  write_end_.reset();
  thread_ = std::thread([this] { run(); });
}

void OutputCut::run() {
  // Of this thread only: a reader that has gone is no reason to end the process.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);

  // So much can be written without blocking when poll says that a pipe is writable.
  std::array<char, PIPE_BUF> buffer{};
  while (left_ != 0 && ready(from_.get(), POLLIN, stop_.get())) {
    const ssize_t count = ::read(from_.get(), buffer.data(), std::min<std::uint64_t>(buffer.size(), left_));
    if (count <= 0 || !ready(to_.get(), POLLOUT, stop_.get())) break;
    if (::write(to_.get(), buffer.data(), static_cast<std::size_t>(count)) != count) break;
    left_ -= static_cast<std::uint64_t>(count);
  }
  to_.reset();
  set(done_);
}

}  // namespace scripted

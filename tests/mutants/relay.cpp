#include "tests/mutants/relay.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <utility>

namespace mutants {

namespace sdk = exechost::sdk;

namespace {

void set(const sdk::Fd& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}

}  // namespace

Relay::Relay(sdk::Fd from, sdk::Fd to, RelayOptions options)
    : from_(std::move(from)),
      to_(std::move(to)),
      options_(std::move(options)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      done_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

Relay::~Relay() {
  set(stop_);
  thread_.join();
}

bool Relay::readable() const {
  pollfd entries[2] = {{from_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (::poll(entries, 2, -1) < 0 && errno == EINTR) {
  }
  return entries[1].revents == 0;
}

bool Relay::pass_on(std::string_view bytes) const {
  while (!bytes.empty()) {
    pollfd entries[2] = {{to_.get(), POLLOUT, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0) continue;
    if (entries[1].revents != 0) return false;
    // So much fits without blocking when poll says that it is writable.
    const ssize_t written = ::write(to_.get(), bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void Relay::run() {
  // Of this thread only: a reader that has gone is an error to be seen, not the end of the process.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);

  std::array<char, PIPE_BUF> buffer{};
  std::size_t left = options_.limit;
  bool going = true;
  while (going && left != 0 && readable()) {
    const ssize_t count = ::read(from_.get(), buffer.data(), std::min(buffer.size(), left));
    if (count <= 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(count));
    left -= piece.size();
    going = pass_on(options_.change ? options_.change(piece) : std::string(piece));
  }
  if (going && options_.change) pass_on(options_.change(std::nullopt));
  from_.reset();
  if (!options_.keeps_end) to_.reset();
  set(done_);
}

}  // namespace mutants

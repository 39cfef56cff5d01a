#include "cli/signal_watcher.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/open_files.hpp"

namespace exechost::cli {
namespace {

using Clock = std::chrono::steady_clock;

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool asks_to_end(int number) { return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT; }

int poll_timeout(Clock::time_point until) {
  if (until == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

SignalWatcher::SignalWatcher(bool whole_terminal) {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (!is_ignored(number)) sigaddset(&taken, number);
  }
  sigset_t blocked = taken;
  if (whole_terminal) {
    for (const int number : {SIGTSTP, SIGWINCH}) sigaddset(&taken, number);
    blocked = taken;
    // So that the terminal can be restored by a program that was put into the background.
    sigaddset(&blocked, SIGTTOU);
  }
  ::pthread_sigmask(SIG_BLOCK, &blocked, &old_mask_);
  signals_.reset(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) error_ = errno;
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_) error_ = errno;
}

SignalWatcher::~SignalWatcher() {
  stop();
  ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

Result<void> SignalWatcher::start(SignalReceiver& receiver, std::chrono::milliseconds grace) {
  if (error_ != 0) {
    Failure failure;
    failure.kind = FailureKind::unavailable;
    failure.phase = Phase::plan;
    failure.step = "signals";
    failure.error_number = error_;
    failure.message = std::string("signals can't be watched: ") + std::strerror(error_);
    name_open_files_limit(failure);
    return unexpected(std::move(failure));
  }
  thread_ = std::thread([this, &receiver, grace] { watch(receiver, grace); });
  return {};
}

int SignalWatcher::stop() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  return first_signal_;
}

void SignalWatcher::watch(SignalReceiver& receiver, std::chrono::milliseconds grace) {
  while (true) {
    std::array<pollfd, 2> ready{pollfd{signals_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    ::poll(ready.data(), ready.size(), poll_timeout(kill_at_));
    if (ready[1].revents != 0) return;
    if (Clock::now() >= kill_at_) {
      kill_at_ = Clock::time_point::max();
      receiver.cancel(first_signal_);
    }
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const bool first = first_signal_ == 0;
      handle(receiver, static_cast<int>(info.ssi_signo));
      if (first && first_signal_ != 0) kill_at_ = Clock::now() + grace;
    }
  }
}

void SignalWatcher::handle(SignalReceiver& receiver, int number) {
  if (number == SIGWINCH) return receiver.window_changed();
  if (number == SIGTSTP) return receiver.suspend();
  if (!asks_to_end(number)) return;
  const bool first = first_signal_ == 0;
  if (first) first_signal_ = number;
  if (!first || !receiver.forward(number)) receiver.cancel(first_signal_);
}

}  // namespace exechost::cli

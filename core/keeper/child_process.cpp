#include "core/keeper/child_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

constexpr int kReapMilliseconds = 2000;

int status_of(const siginfo_t& info) {
  switch (info.si_code) {
    case CLD_EXITED: return W_EXITCODE(info.si_status, 0);
    case CLD_DUMPED: return info.si_status | WCOREFLAG;
    default: return info.si_status;
  }
}

}  // namespace

ProcessState ChildProcess::try_wait(int& wait_status) {
  const std::lock_guard lock(mutex_);
  if (state_ == ProcessState::running) {
    siginfo_t info{};
    int result = 0;
    do {
      result = ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
      // ECHILD comes at once when SIGCHLD is ignored, even while the child runs: the pidfd knows better.
      pollfd ended{pidfd_.get(), POLLIN, 0};
      if (::poll(&ended, 1, 0) > 0) state_ = ProcessState::lost;
    } else if (info.si_pid != 0) {
      state_ = ProcessState::ended;
      wait_status_ = status_of(info);
    }
  }
  if (state_ == ProcessState::ended) wait_status = wait_status_;
  return state_;
}

Result<void> ChildProcess::signal(int number) {
  if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) == 0) return {};
  const int error = errno;
  return unexpected(make_failure(
      FailureKind::environment_lost, Phase::run,
      fmt::format("signal {} can't be sent to process {}: {}", number, pid_, std::strerror(error)), "signal", error));
}

ChildProcess::~ChildProcess() {
  int status = 0;
  if (try_wait(status) != ProcessState::running) return;
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  pollfd ended{pidfd_.get(), POLLIN, 0};
  while (::poll(&ended, 1, kReapMilliseconds) < 0 && errno == EINTR) {
  }
  try_wait(status);
}

}  // namespace exechost::keeper

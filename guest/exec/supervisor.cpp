#include "guest/exec/supervisor.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "guest/control.hpp"

namespace exechost::guest {

namespace {

// How long a killed tree may take to be gone. What is stuck in the kernel longer than this is the
// environment's to end (as process 1: the kernel waits for it anyway).
constexpr int kKillBudgetMs = 2000;
constexpr int kReapedPerRound = 64;

std::int64_t microseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
}

class Supervisor {
 public:
  Supervisor(const StartedCommand& command, const ProcessTree& tree, int signal_fd)
      : command_(command), tree_(tree), signal_fd_(signal_fd) {}

  int run() {
    // What can't be watched is ended, without a report if need be: the keeper sees the socket close.
    bool watching = watch(kControlFd) && watch(signal_fd_) && watch(command_.report_fd);
    while (watching && !ended_) {
      epoll_event event{};
      const int count = ::epoll_wait(epoll_fd_, &event, 1, more_to_reap_ ? 0 : -1);
      if (count > 0) handle(event.data.fd);
      if (more_to_reap_) reap();
      watching = count >= 0 || errno == EINTR;
    }
    const bool gone = tree_.kill_and_reap(kKillBudgetMs);
    if (gone) tree_.remove_cgroup();
    if (failed_) return kExitNotStarted;
    return gone ? kExitDone : kExitNotProven;
  }

 private:
  // epoll, not poll: poll fails when somebody lowers our RLIMIT_NOFILE, as a command of the same
  // user can do where no filter is on.
  bool watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void unwatch(int fd) const { ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr); }

  void handle(int fd) {
    if (fd == signal_fd_) {
      reap();
    } else if (fd == kControlFd) {
      read_control();
    } else {
      read_report();
    }
  }

  void read_report() {
    if (command_.report_fd < 0) return;
    Outcome outcome;
    ssize_t size = -1;
    do {
      size = ::read(command_.report_fd, &outcome, sizeof outcome);
    } while (size < 0 && errno == EINTR);
    unwatch(command_.report_fd);
    ::close(command_.report_fd);
    command_.report_fd = -1;
    if (size == static_cast<ssize_t>(sizeof outcome)) {
      failed_ = true;
      send_failed(outcome);
      return;
    }
    Message started;
    started.type = MessageType::started;
    started.version = kProtocolVersion;
    send(started);
  }

  void read_control() {
    Message message;
    for (;;) {
      const Received received = receive(message);
      if (received == Received::nothing) return;
      if (received == Received::closed) {
        unwatch(kControlFd);
        tree_.kill_all(command_.pid);
        return;
      }
      if (message.type == MessageType::kill) tree_.kill_all(command_.pid);
      if (message.type == MessageType::signal) forward(message.number);
    }
  }

  // To the command's group; to the process itself while it has not made its group yet.
  void forward(int number) const {
    if (number < 1 || number >= NSIG) return;
    if (::kill(-command_.pid, number) != 0 && errno == ESRCH) ::kill(command_.pid, number);
  }

  // A bounded number a round: who forks fast enough must not keep the keeper's wishes from being heard.
  void reap() {
    signalfd_siginfo ignored{};
    [[maybe_unused]] const ssize_t drained = ::read(signal_fd_, &ignored, sizeof ignored);
    more_to_reap_ = false;
    for (int i = 0; i < kReapedPerRound; ++i) {
      int status = 0;
      rusage usage{};
      const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
      if (pid <= 0) return;
      if (pid != command_.pid) continue;
      read_report();  // it may have ended before its report was read
      ended_ = true;
      if (!failed_) send_exited(status, usage);
      return;
    }
    more_to_reap_ = true;
  }

  static void send_exited(int status, const rusage& usage) {
    Message exited;
    exited.type = MessageType::exited;
    exited.version = kProtocolVersion;
    exited.wait_status = status;
    exited.user_time_us = microseconds(usage.ru_utime);
    exited.system_time_us = microseconds(usage.ru_stime);
    exited.max_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
    send(exited);
  }

  StartedCommand command_;
  const ProcessTree& tree_;
  int signal_fd_;
  int epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  bool more_to_reap_ = false;
  bool failed_ = false;
  bool ended_ = false;
};

}  // namespace

int supervise(const StartedCommand& command, const ProcessTree& tree, int signal_fd) {
  return Supervisor(command, tree, signal_fd).run();
}

}  // namespace exechost::guest

#include "guest/exec/supervisor.hpp"

#include <poll.h>
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

std::int64_t microseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
}

class Supervisor {
 public:
  Supervisor(const StartedCommand& command, const ProcessTree& tree, int signal_fd)
      : command_(command), tree_(tree), signal_fd_(signal_fd) {}

  int run() {
    while (!ended_) {
      pollfd fds[3] = {{kControlFd, POLLIN, 0}, {signal_fd_, POLLIN, 0}, {command_.report_fd, POLLIN, 0}};
      if (control_closed_) fds[0].fd = -1;
      if (::poll(fds, 3, -1) < 0) continue;  // only EINTR is possible, and no signal is unblocked
      if (fds[2].revents != 0) read_report();
      if (fds[0].revents != 0) read_control();
      if (fds[1].revents != 0) reap();
    }
    const bool gone = tree_.kill_and_reap(0, signal_fd_, kKillBudgetMs);
    if (failed_) return kExitNotStarted;
    return gone ? kExitDone : kExitNotProven;
  }

 private:
  void read_report() {
    if (command_.report_fd < 0) return;
    Outcome outcome;
    ssize_t size = -1;
    do {
      size = ::read(command_.report_fd, &outcome, sizeof outcome);
    } while (size < 0 && errno == EINTR);
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
        control_closed_ = true;
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

  void reap() {
    signalfd_siginfo ignored{};
    while (::read(signal_fd_, &ignored, sizeof ignored) > 0) {
    }
    for (;;) {
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
  bool control_closed_ = false;
  bool failed_ = false;
  bool ended_ = false;
};

}  // namespace

int supervise(const StartedCommand& command, const ProcessTree& tree, int signal_fd) {
  return Supervisor(command, tree, signal_fd).run();
}

}  // namespace exechost::guest

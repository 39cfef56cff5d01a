#include "guest/serve/serve_mode.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "guest/confine/confine.hpp"
#include "guest/control.hpp"
#include "guest/exec/children.hpp"
#include "guest/exec/exec_mode.hpp"
#include "guest/exec/process_tree.hpp"
#include "guest/exec/stdio.hpp"
#include "guest/exec/supervisor.hpp"
#include "guest/own_process.hpp"
#include "guest/serve/executions.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

namespace {

// How long what a dead supervisor left may take to be gone, and everything at the end.
constexpr int kKillBudgetMs = 2000;
constexpr int kRoundMs = 5;
constexpr int kReapedPerRound = 64;

long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// In the process that is to supervise one command: its socket and streams under the usual numbers, further ones from
// kFirstFurtherFd on, and nothing else of what the serving guest has open.
bool take_over(const int (&descriptors)[kMostRunDescriptors], int count) {
  constexpr int kAbove = 16;  // above every number that is filled below
  int moved[kMostRunDescriptors];
  for (int i = 0; i < count; ++i) {
    moved[i] = ::fcntl(descriptors[i], F_DUPFD_CLOEXEC, kAbove);
    if (moved[i] < 0) return false;
  }
  if (::dup3(moved[0], kControlFd, O_CLOEXEC) < 0) return false;
  for (int i = 1; i < kRunDescriptors; ++i) {
    if (::dup2(moved[i], i - 1) < 0) return false;
  }
  const int further = count - kRunDescriptors;
  for (int i = 0; i < further; ++i) {
    if (::dup3(moved[kRunDescriptors + i], kFirstFurtherFd + i, O_CLOEXEC) < 0) return false;
  }
  const int rest = kFirstFurtherFd + further;
  if (::syscall(SYS_close_range, static_cast<unsigned>(rest), ~0U, 0U) == 0) return true;
  if (errno != ENOSYS) return false;
  constexpr int kHighest = 65536;  // a kernel before 5.9
  for (int fd = rest; fd < kHighest; ++fd) ::close(fd);
  return true;
}

class Server {
 public:
  explicit Server(const Message& confined, ChildList children, int signal_fd)
      : confined_(confined), children_(children), signal_fd_(signal_fd) {}

  int run() {
    bool watching = epoll_fd_ >= 0 && watch(kControlFd) && watch(signal_fd_);
    while (watching && open_) {
      epoll_event event{};
      const int count = ::epoll_wait(epoll_fd_, &event, 1, timeout());
      if (count > 0 && event.data.fd == kControlFd) read_control();
      if ((count > 0 && event.data.fd == signal_fd_) || more_to_reap_) reap();
      if (orphans_until_ != 0) end_orphans();
      watching = count >= 0 || errno == EINTR;
    }
    return end_everything() ? kExitDone : kExitNotProven;
  }

 private:
  bool watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  int timeout() const {
    if (more_to_reap_) return 0;
    return orphans_until_ != 0 ? kRoundMs : -1;
  }

  void read_control() {
    for (;;) {
      Message message;
      int descriptors[kMostRunDescriptors];
      int count = 0;
      const Received received = receive_with(message, descriptors, count);
      if (received == Received::nothing) return;
      const bool runs = message.type == MessageType::run && count >= kRunDescriptors && count <= kMostRunDescriptors;
      const bool ends = message.type == MessageType::end && count == 0;
      // Who breaks the protocol gets no more say.
      if (received == Received::closed || (!runs && !ends)) {
        open_ = false;
        return;
      }
      if (ends) end(message.number);
      if (runs) {
        start(message.number, descriptors, count);
        for (int i = 0; i < count; ++i) ::close(descriptors[i]);
      }
    }
  }

  void start(std::int32_t number, const int (&descriptors)[kMostRunDescriptors], int count) {
    ServedExecution* const execution = executions_.add(number);
    if (execution == nullptr) return refuse(number, EAGAIN);
    const pid_t pid = ::fork();
    if (pid < 0) {
      const int error = errno;
      Executions::remove(*execution);
      return refuse(number, error);
    }
    if (pid == 0) {
      const bool taken = take_over(descriptors, count);
      ::_exit(taken ? run_served_command(confined_, count - kRunDescriptors) : kExitNotStarted);
    }
    execution->supervisor = pid;
  }

  static void refuse(std::int32_t number, int error) {
    Message over;
    over.type = MessageType::over;
    over.version = kProtocolVersion;
    over.number = number;
    over.step = Step::fork;
    over.error_number = error;
    send(over);
  }

  // A supervisor that does not do it itself: what it leaves comes to this process.
  void end(std::int32_t number) {
    const ServedExecution* const execution = executions_.of_number(number);
    if (execution != nullptr && execution->supervisor > 0) ::kill(execution->supervisor, SIGKILL);
  }

  void reap() {
    signalfd_siginfo ignored{};
    [[maybe_unused]] const ssize_t drained = ::read(signal_fd_, &ignored, sizeof ignored);
    more_to_reap_ = false;
    for (int i = 0; i < kReapedPerRound; ++i) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
      if (pid <= 0) return;
      ServedExecution* const execution = executions_.of_supervisor(pid);
      if (WIFSTOPPED(status)) {
        // A command of the same user may stop its supervisor; that would keep it from doing its work.
        if (execution != nullptr) ::kill(pid, SIGCONT);
        continue;
      }
      if (execution != nullptr) supervisor_ended(*execution, status);
    }
    more_to_reap_ = true;
  }

  // Only a supervisor that said so has proved that nothing is left.
  void supervisor_ended(ServedExecution& execution, int status) {
    execution.supervisor = -1;
    execution.wait_status = status;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kExitDone) return report(execution, 0);
    if (orphans_until_ == 0) orphans_until_ = now_ms() + kKillBudgetMs;
  }

  static void report(ServedExecution& execution, int error) {
    Message over;
    over.type = MessageType::over;
    over.version = kProtocolVersion;
    over.number = execution.number;
    over.wait_status = execution.wait_status;
    over.error_number = error;
    send(over);
    Executions::remove(execution);
  }

  // Children that are no supervisors were left by supervisors that died. Whose they are nobody can tell, so
  // executions without a supervisor are over when the last of them is gone.
  void end_orphans() {
    bool any = false;
    children_.for_each([this, &any](pid_t pid) {
      if (executions_.of_supervisor(pid) != nullptr) return;
      any = true;
      ::kill(pid, SIGKILL);
    });
    if (any && now_ms() < orphans_until_) return;
    orphans_until_ = 0;
    executions_.for_each([any](ServedExecution& execution) {
      if (execution.supervisor < 0) report(execution, any ? EBUSY : 0);
    });
  }

  // As process 1 the namespace ends with it anyway, but then nobody would have waited for it.
  bool end_everything() {
    const long until = now_ms() + kKillBudgetMs;
    for (;;) {
      if (::getpid() == 1) {
        ::kill(-1, SIGKILL);
      } else {
        children_.for_each([](pid_t pid) { ::kill(pid, SIGKILL); });
      }
      for (int i = 0; i < kReapedPerRound; ++i) {
        const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
        if (pid < 0) return true;
        if (pid == 0) break;
      }
      if (now_ms() >= until) return false;
      constexpr timespec kRound{0, kRoundMs * 1'000'000L};
      ::nanosleep(&kRound, nullptr);
    }
  }

  const Message confined_;
  ChildList children_;
  const int signal_fd_;
  const int epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  Executions executions_;
  bool open_ = true;
  bool more_to_reap_ = false;
  long orphans_until_ = 0;  // 0: none are looked for
};

// Everything up to the first command.
Outcome prepare(ChildList& children, Message& confined) {
  int spec_fd = -1;
  if (const Outcome outcome = receive_spec(spec_fd); !outcome.ok()) {
    ::close(spec_fd);
    return outcome;
  }
  Spec spec;
  if (const Outcome outcome = read_spec(spec_fd, spec); !outcome.ok()) return outcome;
  if (spec.inherited) return failure(Step::read_spec, EPROTO);
  if (!children.open()) return failure(Step::tree, errno);
  // What a supervisor leaves has to come here; process 1 gets it anyway.
  if (::getpid() != 1 && ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0) return failure(Step::tree, errno);
  return spec.unconfined ? success() : confine(spec, confined);
}

}  // namespace

int run_serve_mode(const CommandStdio& stdio) {
  if (!has_control_socket()) return kExitUsage;
  protect_process();  // first of all
  reset_signals();
  for (const int fd : stdio.fds) {
    if (fd > STDERR_FILENO) ::close(fd);
  }
  Message confined;
  confined.type = MessageType::confined;
  confined.version = kProtocolVersion;
  ChildList children;
  const int signal_fd = child_signals();
  const Outcome outcome = signal_fd < 0 ? failure(Step::descriptors, errno) : prepare(children, confined);
  if (!outcome.ok()) {
    send_failed(outcome);
    return kExitNotStarted;
  }
  send(confined);
  return Server(confined, children, signal_fd).run();
}

}  // namespace exechost::guest

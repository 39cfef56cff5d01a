#include "guest/serve/supervisors.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "guest/exec/exec_mode.hpp"
#include "guest/exec/stdio.hpp"
#include "guest/exec/supervisor.hpp"

namespace exechost::guest {

namespace {

// How long what a dead supervisor left may take to be gone, and everything at the end.
constexpr int kKillBudgetMs = 2000;
constexpr int kRoundMs = 5;
constexpr int kReapedPerRound = 64;

// In the process that is to supervise one command: its socket and streams under the usual numbers, further ones from
// kFirstFurtherFd on, and nothing else of what the serving guest has open.
bool take_over(const int* descriptors, int count) {
  constexpr int kAbove = 16;  // above every number that is filled below
  int moved[kMostRunDescriptors] = {};
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

void report(ServedExecution& execution, int error, OverHandler& handler) {
  const ServedExecution told = execution;
  Executions::remove(execution);
  handler.over(told.number, told.wait_status, error);
}

}  // namespace

long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

Outcome Supervisors::prepare() {
  if (!cgroups_.fits()) return failure(Step::cgroup, ENAMETOOLONG);
  if (!children_.open()) return failure(Step::tree, errno);
  if (::getpid() == 1) return success();  // what is left comes to it anyway, and nobody inside can stop it
  // A command of the same user may; when the keeper dies nobody else would continue this process to do its last work.
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGCONT), 0UL, 0UL, 0UL);
  return ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) == 0 ? success() : failure(Step::tree, errno);
}

void Supervisors::raise_descriptor_limit() {
  if (::getrlimit(RLIMIT_NOFILE, &descriptor_limit_) != 0) return;
  const rlimit all{descriptor_limit_.rlim_max, descriptor_limit_.rlim_max};
  limit_raised_ = ::setrlimit(RLIMIT_NOFILE, &all) == 0;
}

int Supervisors::start(std::int32_t number, const int* descriptors, int count, const Message& confined) {
  ServedExecution* const execution = executions_.add(number);
  if (execution == nullptr) return EAGAIN;
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    Executions::remove(*execution);
    return error;
  }
  if (pid == 0) {
    const bool ready =
        (!limit_raised_ || ::setrlimit(RLIMIT_NOFILE, &descriptor_limit_) == 0) && take_over(descriptors, count);
    ::_exit(ready ? run_served_command(confined, count - kRunDescriptors, cgroups_.path_of(number)) : kExitNotStarted);
  }
  execution->supervisor = pid;
  return 0;
}

void Supervisors::end(std::int32_t number) {
  const ServedExecution* const execution = executions_.of_number(number);
  if (execution != nullptr && execution->supervisor > 0) ::kill(execution->supervisor, SIGKILL);
}

int Supervisors::timeout_ms() const {
  if (more_to_reap_) return 0;
  return orphans_until_ != 0 ? kRoundMs : -1;
}

void Supervisors::reap(int signal_fd, OverHandler& handler) {
  signalfd_siginfo ignored{};
  [[maybe_unused]] const ssize_t drained = ::read(signal_fd, &ignored, sizeof ignored);
  more_to_reap_ = true;
  for (int i = 0; i < kReapedPerRound && more_to_reap_; ++i) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
    more_to_reap_ = pid > 0;
    if (!more_to_reap_) break;
    ServedExecution* const execution = executions_.of_supervisor(pid);
    if (execution == nullptr) continue;
    if (WIFSTOPPED(status)) {
      // A command of the same user may stop its supervisor; that would keep it from doing its work.
      ::kill(pid, SIGCONT);
    } else {
      ended(*execution, status, handler);
    }
  }
  if (orphans_until_ != 0) end_orphans(handler);
}

// Only a supervisor that said so has proved that nothing is left.
void Supervisors::ended(ServedExecution& execution, int status, OverHandler& handler) {
  execution.supervisor = -1;
  execution.wait_status = status;
  const bool done = WIFEXITED(status) && WEXITSTATUS(status) == kExitDone;
  // Its cgroup is gone by then, unless the kernel was late.
  if (done && cgroups_.end(execution.number)) return report(execution, 0, handler);
  if (orphans_until_ == 0) orphans_until_ = now_ms() + kKillBudgetMs;
}

// Children that are no supervisors were left by supervisors that died. Whose they are nobody can tell, so
// executions without a supervisor are over when the last of them is gone.
void Supervisors::end_orphans(OverHandler& handler) {
  bool any = false;
  children_.for_each([this, &any](pid_t pid) {
    if (executions_.of_supervisor(pid) != nullptr) return;
    any = true;
    ::kill(pid, SIGKILL);
  });
  if (!end_cgroups()) any = true;
  if (any && now_ms() < orphans_until_) return;
  orphans_until_ = 0;
  executions_.for_each([any, &handler](ServedExecution& execution) {
    if (execution.supervisor < 0) report(execution, any ? EBUSY : 0, handler);
  });
}

// Of commands without a supervisor. True: none is left.
bool Supervisors::end_cgroups() {
  bool gone = true;
  executions_.for_each([this, &gone](const ServedExecution& execution) {
    if (execution.supervisor < 0 && !cgroups_.end(execution.number)) gone = false;
  });
  return gone;
}

bool Supervisors::end_everything() {
  const long until = now_ms() + kKillBudgetMs;
  // Supervisors are killed, too, and end nothing any more: their commands' cgroups are this process's to end.
  executions_.for_each([](ServedExecution& execution) { execution.supervisor = -1; });
  for (;;) {
    if (::getpid() == 1) {
      ::kill(-1, SIGKILL);
    } else {
      children_.for_each([](pid_t pid) { ::kill(pid, SIGKILL); });
    }
    end_cgroups();
    pid_t reaped = 1;
    for (int i = 0; i < kReapedPerRound && reaped > 0; ++i) reaped = ::waitpid(-1, nullptr, WNOHANG);
    // Once more: a supervisor may have been about to make one when it was killed.
    if (reaped < 0 && end_cgroups()) return true;
    if (now_ms() >= until) return false;
    constexpr timespec kRound{0, kRoundMs * 1'000'000L};
    ::nanosleep(&kRound, nullptr);
  }
}

}  // namespace exechost::guest

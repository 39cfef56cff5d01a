#include "tests/mutants/runner/supervisor.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/mutants/runner/command.hpp"

namespace mutants {
namespace {

constexpr std::uint64_t kPeriodMs = 100;
constexpr std::uint64_t kOneProcessor = 1000;

// Lets the tree run for its share of each period and holds it for the rest. It may use every
// processor there is, so the share is of all of them.
class Throttle {
 public:
  explicit Throttle(std::uint64_t thousandths) {
    const auto processors = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    run_ms_ = std::max<std::uint64_t>(1, thousandths * kPeriodMs / (processors * kOneProcessor));
    // kill(-1) is for the first process of a namespace only.
    on_ = thousandths != 0 && run_ms_ < kPeriodMs && is_first_process();
  }
  int patience() const {
    if (!on_) return -1;
    return static_cast<int>(held_ ? kPeriodMs - run_ms_ : run_ms_);
  }
  void turn() {
    if (!on_) return;
    held_ = !held_;
    ::kill(-1, held_ ? SIGSTOP : SIGCONT);
  }

 private:
  std::uint64_t run_ms_ = 0;
  bool on_ = false;
  bool held_ = false;
};

class Supervisor {
 public:
  explicit Supervisor(const Options& options) : options_(options), throttle_(options.cpu_thousandths) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    children_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
  }

  void run() {
    command_ = start_command(options_);
    if (command_ < 0) return;
    // The command's pipes are to close when the command closes them.
    if (!options_.rerun) let_go_of_streams();
    while (!over_) {
      pollfd entries[2] = {{children_, POLLIN, 0}, {leash_, POLLIN, 0}};
      const int count = ::poll(entries, 2, throttle_.patience());
      if (count == 0) throttle_.turn();
      if (count > 0 && entries[0].revents != 0) reap();
      if (count > 0 && entries[1].revents != 0) read_leash();
    }
    if (reach_ == Reach::tree) end_children();
    report(Report::ended, status_);
  }

 private:
  static void let_go_of_streams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
  }

  void read_leash() {
    unsigned char number = 0;
    if (::read(leash_, &number, 1) != 1) {
      leash_ = -1;
      number = SIGKILL;
    }
    if (number != SIGKILL) return send_signal(command_, number);
    reach_ = options_.on_kill;
    killed_ = true;
    end_command(command_, reach_);
  }

  void reap() {
    signalfd_siginfo ignored{};
    [[maybe_unused]] const ssize_t drained = ::read(children_, &ignored, sizeof ignored);
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      if (info.si_pid != command_) {
        ::waitpid(info.si_pid, nullptr, 0);
        continue;
      }
      // Not reaped yet: its group's number can't be another's.
      if (!killed_) reach_ = options_.at_end;
      if (reach_ == Reach::group) end_command(command_, reach_);
      ::waitpid(command_, &status_, 0);
      // The rest of its group are our children by now.
      while (reach_ == Reach::group && ::waitpid(-command_, nullptr, 0) > 0) {
      }
      over_ = !start_again();
      return;
    }
  }

  bool start_again() {
    if (!options_.rerun || killed_ || again_ || !WIFEXITED(status_) || WEXITSTATUS(status_) == 0) return false;
    again_ = true;
    command_ = start_command(options_);
    let_go_of_streams();
    return command_ > 0;
  }

  const Options& options_;
  Throttle throttle_;
  int children_ = -1;
  int leash_ = kLeashFd;
  pid_t command_ = -1;
  int status_ = 0;
  Reach reach_ = Reach::tree;
  bool killed_ = false;
  bool again_ = false;
  bool over_ = false;
};

}  // namespace

void supervise(const Options& options) { Supervisor(options).run(); }

}  // namespace mutants

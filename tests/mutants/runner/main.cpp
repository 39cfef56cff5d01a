// exechost-mutant-runner: starts one command in namespaces of its own, takes signals for it, and ends
// when nothing of it is left. What a correct mutant is made of; its options make some of the faults.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tests/mutants/runner/command.hpp"
#include "tests/mutants/runner/namespaces.hpp"
#include "tests/mutants/runner/supervisor.hpp"

namespace {

using mutants::kLeashFd;
using mutants::kStatusFd;
using mutants::Options;
using mutants::Report;

constexpr int kControlFd = 3;
constexpr int kUsage = 2;

[[noreturn]] void become_guest(const Options& options) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(options.command[0], options.command);
  mutants::report(Report::not_started, errno);
  ::_exit(1);
}

[[noreturn]] void become_first(const Options& options) {
  // Its namespace ends with it, and it with us.
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL), 0UL, 0UL, 0UL);
  if (options.namespaces) mutants::show_own_processes();
  if (options.guest) become_guest(options);
  ::close(kControlFd);
  mutants::supervise(options);
  ::_exit(0);
}

// The guest knows nothing of the leash, so it is held from outside.
void hold_guest(pid_t guest, int pidfd) {
  pollfd entries[2] = {{pidfd, POLLIN, 0}, {kLeashFd, POLLIN, 0}};
  for (;;) {
    if (::poll(entries, 2, -1) < 0) continue;
    if (entries[0].revents != 0) return;
    unsigned char number = SIGKILL;
    if (::read(kLeashFd, &number, 1) != 1) entries[1].fd = -1;
    if (number == SIGKILL) ::kill(guest, SIGKILL);
  }
}

int run(const Options& options) {
  if (const int error = mutants::enter_namespaces(options); error != 0) {
    mutants::report(Report::no_place, error);
    return 1;
  }
  const pid_t first = ::fork();
  if (first < 0) {
    mutants::report(Report::not_started, errno);
    return 1;
  }
  if (first == 0) become_first(options);
  for (int fd = 0; fd <= kControlFd; ++fd) ::close(fd);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, first, 0));
  if (options.guest && pidfd >= 0) hold_guest(first, pidfd);
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  if (options.guest) mutants::report(Report::ended, status);
  return 0;
}

}  // namespace

int main(int count, char* const* arguments) {
  const auto options = mutants::parse_options(count, arguments);
  if (!options) return kUsage;
  for (const int fd : {kStatusFd, kLeashFd}) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return kUsage;
  }
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  return run(*options);
}

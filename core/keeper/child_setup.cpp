#include "core/keeper/child_setup.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>

namespace exechost::keeper {
namespace {

void default_dispositions() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    ::sigaction(number, &action, nullptr);  // KILL, STOP and glibc's own refuse
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void ChildSetup::report(ChildStep step, int error_number) const {
  const ChildReport report{step, error_number};
  while (::write(status_pipe, &report, sizeof report) < 0 && errno == EINTR) {
  }
}

void ChildSetup::run() const {
  const auto stop = [this](ChildStep step) {
    report(step, errno);
    ::_exit(kFailed);
  };
  if (::setsid() < 0) stop(ChildStep::session);
  if (!outlives_parent && ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) stop(ChildStep::parent);
  // The parent may have died before the line above: then no signal will ever come.
  if (::getppid() != parent) {
    errno = ESRCH;
    stop(ChildStep::parent);
  }
  for (std::size_t target = 0; target < sources.size(); ++target) {
    if (::dup2(sources[target], static_cast<int>(target)) < 0) stop(ChildStep::descriptors);
  }
  if (open_files != nullptr && ::setrlimit(RLIMIT_NOFILE, open_files) != 0) stop(ChildStep::limits);
  if (::chdir(working_directory) != 0) stop(ChildStep::chdir);
  default_dispositions();
  // Marked, not closed: the pipe that tells of a failed exec must live until exec.
  if (::close_range(static_cast<unsigned>(sources.size()), UINT_MAX, CLOSE_RANGE_CLOEXEC) != 0) {
    stop(ChildStep::descriptors);
  }
}

}  // namespace exechost::keeper

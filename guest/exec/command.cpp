#include "guest/exec/command.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

namespace exechost::guest {

namespace {

constexpr int kAbovePlaces = static_cast<int>(kHighestPlace) + 1;

// Puts the command's three descriptors at 0, 1 and 2, whatever their order is now.
bool place_stdio(const CommandStdio& stdio) {
  int moved[3];
  for (int i = 0; i < 3; ++i) {
    moved[i] = ::fcntl(stdio.fds[i], F_DUPFD_CLOEXEC, 3);
    if (moved[i] < 0) return false;
  }
  for (int i = 0; i < 3; ++i) {
    if (::dup2(moved[i], i) < 0) return false;
  }
  return true;
}

// After the rest was marked: what gets a place stays open. Nothing that is still needed has such a number.
bool place_further(const Spec& spec) {
  int moved[kMostFurtherDescriptors] = {};
  for (int i = 0; i < spec.place_count; ++i) {
    moved[i] = ::fcntl(kFirstFurtherFd + i, F_DUPFD_CLOEXEC, kAbovePlaces);
    if (moved[i] < 0) return false;
  }
  for (int i = 0; i < spec.place_count; ++i) {
    if (::dup2(moved[i], spec.places[i]) < 0) return false;
  }
  return true;
}

// Everything from 3 on closes at exec; until then the report pipe is needed.
bool mark_rest_close_on_exec() {
  if (::syscall(SYS_close_range, 3U, ~0U, static_cast<unsigned>(CLOSE_RANGE_CLOEXEC)) == 0) return true;
  if (errno != ENOSYS && errno != EINVAL) return false;
  // A kernel before 5.11. Nobody sends a guest descriptors above the limit it was started with.
  constexpr rlim_t kHighest = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const int end = static_cast<int>(limit.rlim_cur < kHighest ? limit.rlim_cur : kHighest);
  for (int fd = 3; fd < end; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return true;
}

int apply_limits(const Spec& spec) {
  for (std::size_t i = 0; i < spec.limit_count; ++i) {
    const auto resource = static_cast<__rlimit_resource_t>(spec.limits[i].resource);
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) return errno;
    // A hard limit that is lower already can't be raised without privileges, and is stricter.
    const rlim_t value = spec.limits[i].value < limit.rlim_max ? spec.limits[i].value : limit.rlim_max;
    limit = {value, value};
    if (::setrlimit(resource, &limit) != 0) return errno;
  }
  return 0;
}

const char* path_variable(char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, "PATH=", 5) == 0) return *environment + 5;
  }
  return "/bin:/usr/bin";  // execvpe's own
}

bool exists_in(const char* folder, std::size_t length, const char* name) {
  char path[PATH_MAX];
  const std::size_t name_length = std::strlen(name);
  if (length + name_length + 2 > sizeof path) return false;
  std::memcpy(path, folder, length);
  path[length] = '/';
  std::memcpy(path + length + 1, name, name_length + 1);
  return ::faccessat(AT_FDCWD, length == 0 ? name : path, F_OK, AT_EACCESS) == 0;
}

// execvpe says EACCES when any folder of PATH can't be searched (a home folder that is hidden
// in here, say), though the program is nowhere: that is ENOENT for whoever asked.
int explain_eacces(const Spec& spec) {
  const char* name = spec.arguments[0];
  if (std::strchr(name, '/') != nullptr) return EACCES;
  const char* folder = path_variable(spec.environment);
  for (;;) {
    const char* colon = std::strchr(folder, ':');
    const std::size_t length = colon != nullptr ? static_cast<std::size_t>(colon - folder) : std::strlen(folder);
    if (exists_in(folder, length, name)) return EACCES;
    if (colon == nullptr) return ENOENT;
    folder = colon + 1;
  }
}

// Runs in the child; returns only when something failed.
Outcome become_command(const Spec& spec, const CommandStdio& stdio, const ProcessTree& tree, pid_t parent) {
  // Before anything that the command could influence: what it starts is born into the cgroup.
  if (const Outcome outcome = tree.admit(); !outcome.ok()) return outcome;
  if (!tree.is_init()) {
    if (::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL), 0UL, 0UL, 0UL) != 0) {
      return failure(Step::session, errno);
    }
    if (::getppid() != parent) return failure(Step::session, ESRCH);  // it died before it could tie us
  }
  if (::setsid() < 0) return failure(Step::session, errno);
  if (!place_stdio(stdio)) return failure(Step::descriptors, errno);
  if (spec.tty && ::ioctl(0, TIOCSCTTY, 0) != 0) return failure(Step::terminal, errno);
  if (!mark_rest_close_on_exec() || !place_further(spec)) return failure(Step::descriptors, errno);
  if (::chdir(spec.working_directory) != 0) return failure(Step::working_directory, errno);
  if (!spec.unconfined) ::umask(spec.umask);
  // Only here, not on the guest: limits on processor time, files or memory must not hit who supervises.
  if (const int error = apply_limits(spec); error != 0) return failure(Step::rlimit, error);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::environ = spec.environment;  // execvpe searches the PATH of this
  ::execvpe(spec.arguments[0], spec.arguments, spec.environment);
  if (spec.fallback[0] != nullptr && (errno == ENOENT || errno == EACCES)) {
    ::execvpe(spec.fallback[0], spec.fallback, spec.environment);
  }
  const int error = errno;
  return failure(Step::exec, error == EACCES ? explain_eacces(spec) : error);
}

}  // namespace

Outcome start_command(const Spec& spec, const CommandStdio& stdio, const ProcessTree& tree, StartedCommand& command) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return failure(Step::fork, errno);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::close(report[0]);
    ::close(report[1]);
    return failure(Step::fork, error);
  }
  if (pid == 0) {
    // Above the numbers that are filled.
    const int report_fd = ::fcntl(report[1], F_DUPFD_CLOEXEC, spec.place_count != 0 ? kAbovePlaces : 3);
    const Outcome outcome = become_command(spec, stdio, tree, parent);
    // Less than PIPE_BUF into an empty pipe: whole or not at all. If not, the parent sees exit status 127.
    const ssize_t written = ::write(report_fd, &outcome, sizeof outcome);
    ::_exit(written == static_cast<ssize_t>(sizeof outcome) ? 1 : 127);
  }
  ::close(report[1]);
  command.pid = pid;
  command.report_fd = report[0];
  return success();
}

}  // namespace exechost::guest

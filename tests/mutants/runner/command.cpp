#include "tests/mutants/runner/command.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace mutants {
namespace {

constexpr int kExecFailed = 126;

// As execvp, but a file without "#!" is no script: that is the command's business, not ours.
int exec_program(char* const* command) {
  const std::string_view name = command[0];
  if (name.find('/') != std::string_view::npos) {
    ::execv(command[0], command);
    return errno;
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  int reason = ENOENT;
  for (;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string program = std::string(folder.empty() ? "." : folder) + '/' + std::string(name);
    ::execv(program.c_str(), command);
    if (errno != ENOENT && errno != ENOTDIR) reason = errno;
    if (colon == std::string_view::npos) return reason;
    rest.remove_prefix(colon + 1);
  }
}

[[noreturn]] void become_command(const Options& options, int failed_fd) {
  ::setsid();
  if (::isatty(STDIN_FILENO) == 1) ::ioctl(STDIN_FILENO, TIOCSCTTY, 0);
  if (options.memory != 0) {
    const rlimit limit{options.memory, options.memory};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int error = exec_program(options.command);
  [[maybe_unused]] const ssize_t written = ::write(failed_fd, &error, sizeof error);
  ::_exit(kExecFailed);
}

}  // namespace

void report(Report::Kind kind, int value) {
  const Report text{kind, value};
  [[maybe_unused]] const ssize_t written = ::write(kStatusFd, &text, sizeof text);
}

bool is_first_process() { return ::getpid() == 1; }

pid_t start_command(const Options& options) {
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) {
    report(Report::not_started, errno);
    return -1;
  }
  const pid_t pid = ::fork();
  if (pid == 0) become_command(options, failed[1]);
  int error = pid < 0 ? errno : 0;
  ::close(failed[1]);
  // Nothing to read: exec has closed it.
  if (pid > 0 && ::read(failed[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(pid, nullptr, 0);
  }
  ::close(failed[0]);
  if (error != 0) {
    report(Report::not_started, error);
    return -1;
  }
  report(Report::started, 0);
  return pid;
}

void send_signal(pid_t command, int number) { ::kill(-command, number); }

void end_command(pid_t command, Reach reach) {
  if (reach == Reach::process) ::kill(command, SIGKILL);
  if (reach == Reach::group) ::kill(-command, SIGKILL);
  if (reach != Reach::tree) return;
  if (is_first_process()) {
    ::kill(-1, SIGKILL);
  } else {
    ::kill(-command, SIGKILL);
  }
}

void end_children() {
  for (;;) {
    if (is_first_process()) {
      ::kill(-1, SIGKILL);
    } else {
      // Nobody but us reaps them, so the numbers are theirs.
      std::ifstream children("/proc/thread-self/children");
      for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    }
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

}  // namespace mutants

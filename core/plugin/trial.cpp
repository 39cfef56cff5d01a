#include "core/plugin/trial.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "core/base/clock.hpp"
#include "core/base/unique_fd.hpp"
#include "core/base/utf8.hpp"
#include "core/plugin/failures.hpp"
#include "core/plugin/trial_protocol.hpp"
#include "core/plugin/trust.hpp"

namespace exechost::plugin {
namespace {

constexpr std::size_t kMaxReport = 4096;
constexpr int kSafeFd = 16;  // above every descriptor that the child gets

// Descriptors of the child: /dev/null three times, the report pipe, the copy; nothing else.
class SpawnActions {
 public:
  SpawnActions(int report_fd, int copy_fd) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDWR, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, 0, 1);
    ::posix_spawn_file_actions_adddup2(&actions_, 0, 2);
    ::posix_spawn_file_actions_adddup2(&actions_, report_fd, trial::kReportFd);
    if (copy_fd >= 0) ::posix_spawn_file_actions_adddup2(&actions_, copy_fd, trial::kCopyFd);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, copy_fd >= 0 ? trial::kCopyFd + 1 : trial::kReportFd + 1);

    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  int spawn(const char* program, char* const* argv, pid_t& pid) const {
    return ::posix_spawn(&pid, program, &actions_, &attributes_, argv, environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Everything that comes until end-of-file; false when the deadline was first.
bool read_report(int fd, std::int64_t deadline_ns, std::string& report) {
  while (report.size() < kMaxReport) {
    pollfd entry{fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, poll_timeout_ms(deadline_ns));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[512];
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    report.append(buffer, static_cast<std::size_t>(count));
  }
  return true;
}

std::string how_it_ended(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const char* const name = ::sigabbrev_np(WTERMSIG(wait_status));
    return fmt::format("signal SIG{}", name == nullptr ? "?" : name);
  }
  return fmt::format("exit status {}", WEXITSTATUS(wait_status));
}

tl::unexpected<Failure> dangerous(const std::string& library, const std::string& rule) {
  return tl::unexpected<Failure>(
      refused(library, rule, "its static constructors or its entry function do that: ask the plugin's author"));
}

}  // namespace

std::string find_check_program() {
  // The object that this function is in: the program itself, or libexechost.
  Dl_info info{};
  static const char kAnchor = 0;
  if (::dladdr(&kAnchor, &info) == 0 || info.dli_fname == nullptr) return {};
  char resolved[PATH_MAX];
  // dli_fname of the main program is its argv[0].
  const bool is_program = std::strchr(info.dli_fname, '/') == nullptr || info.dli_fname[0] != '/';
  if (::realpath(is_program ? "/proc/self/exe" : info.dli_fname, resolved) == nullptr) return {};
  std::string folder = resolved;
  for (std::size_t slash = folder.rfind('/'); slash != std::string::npos; slash = folder.rfind('/')) {
    folder.resize(slash);
    for (const char* const place : {"/exechost-plugin-check", "/libexec/exechost/exechost-plugin-check"}) {
      std::string candidate = folder + place;
      if (::access(candidate.c_str(), X_OK) == 0 && open_trusted(candidate)) return candidate;
    }
  }
  return {};
}

Result<void> try_loading(const std::string& check_program, const std::string& library, int fd,
                         std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unexpected(refused(library, "can't be tried: no pipe", {}, errno));
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  // Sources must not be overwritten by the child's targets.
  UniqueFd report_fd(::fcntl(writer.get(), F_DUPFD_CLOEXEC, kSafeFd));
  writer.reset();
  UniqueFd copy_fd;
  if (fd >= 0) copy_fd.reset(::fcntl(fd, F_DUPFD_CLOEXEC, kSafeFd));
  if (!report_fd || (fd >= 0 && !copy_fd)) {
    return unexpected(refused(library, "can't be tried: no descriptor is free", {}, errno));
  }

  std::string program = check_program;
  std::string path = fd >= 0 ? fmt::format("/proc/self/fd/{}", trial::kCopyFd) : library;
  char* const argv[] = {program.data(), path.data(), nullptr};
  pid_t pid = -1;
  const int error = SpawnActions(report_fd.get(), copy_fd.get()).spawn(program.c_str(), argv, pid);
  if (error != 0) {
    return unexpected(refused(check_program, "can't be started: " + std::generic_category().message(error),
                              "it tries plugins before they are loaded; install ExecHost again", error));
  }
  report_fd.reset();

  std::string report;
  const bool in_time = read_report(reader.get(), deadline_after(limit), report);
  // Does nothing to a process that is already ending: its status is decided.
  ::kill(pid, SIGKILL);
  int status = 0;
  pid_t waited = -1;
  do {
    waited = ::waitpid(pid, &status, 0);
  } while (waited < 0 && errno == EINTR);

  if (!in_time) return dangerous(library, fmt::format("was tried and did not load within {} ms", limit.count()));
  if (report.size() == 1 && report[0] == trial::kSurvived) return {};
  if (!report.empty() && report[0] == trial::kThrew) {
    return dangerous(library, "was tried and threw an exception: " + to_valid_utf8(report.substr(1)));
  }
  // A host that ignores SIGCHLD gets no status.
  return dangerous(library, "was tried and ended the process that loaded it" +
                                (waited == pid ? " (" + how_it_ended(status) + ")" : std::string()));
}

}  // namespace exechost::plugin

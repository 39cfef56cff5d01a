// The only file with Boost.Process (v1; its v2 deadlocks and leaks in the versions Debian has).
// Of it only fork, exec and argument vectors are used: descriptors, sessions, failure reports and
// waiting are our own, since its pipes leak into siblings, its failed exec leaves zombies and its
// waits are not safe in threads.
#include "core/keeper/process_launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-result"
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#pragma GCC diagnostic pop

#include "core/keeper/child_process.hpp"
#include "core/keeper/child_setup.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

namespace bp = boost::process;
using std::chrono::milliseconds;

constexpr int kBusyTries = 5;

std::string_view name_of(ChildStep step) {
  switch (step) {
    case ChildStep::session: return "session";
    case ChildStep::parent: return "parent";
    case ChildStep::descriptors: return "descriptors";
    case ChildStep::limits: return "limits";
    case ChildStep::chdir: return "chdir";
    case ChildStep::exec: return "exec";
    case ChildStep::none: break;
  }
  return "fork";
}

Failure spawn_failure(const ProcessSpec& spec, std::string_view step, int error) {
  std::string message = fmt::format("\"{}\" could not be started ({}", spec.argv.front(), step);
  if (step == "chdir") message += fmt::format(" to \"{}\"", spec.working_directory);
  message += fmt::format("): {}", std::strerror(error));
  return make_failure(FailureKind::spawn_failed, Phase::spawn, std::move(message), std::string(step), error);
}

Result<void> check(const ProcessSpec& spec) {
  const auto wrong = [](std::string message) {
    return unexpected(make_failure(FailureKind::invalid_request, Phase::spawn, std::move(message)));
  };
  if (spec.argv.empty()) return wrong("a process needs a program: argv is empty");
  if (!spec.argv.front().starts_with('/')) {
    return wrong(fmt::format("argv[0] is \"{}\"; it must be an absolute path", spec.argv.front()));
  }
  if (spec.descriptors.size() < 3 || spec.descriptors.size() > kMaxChildDescriptors) {
    return wrong(
        fmt::format("a process gets 3 to {} descriptors, not {}", kMaxChildDescriptors, spec.descriptors.size()));
  }
  const auto holds_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  for (const auto& argument : spec.argv) {
    if (holds_nul(argument)) return wrong("an argument holds a NUL byte");
  }
  for (const auto& variable : spec.environment) {
    if (holds_nul(variable)) return wrong("an environment variable holds a NUL byte");
  }
  if (holds_nul(spec.working_directory)) return wrong("the working directory holds a NUL byte");
  return {};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT: execve's signature
  pointers.push_back(nullptr);
  return pointers;
}

int duplicate_above_targets(int descriptor, const ProcessSpec& spec) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(spec.descriptors.size()));
  // A limit that is below the lowest number allowed is told as a wrong argument.
  if (copy < 0 && errno == EINVAL) errno = EMFILE;
  return copy;
}

// Duplicates above every target, so that no dup2 in the child destroys a source or a pipe.
Result<std::vector<UniqueFd>> sources_of(const ProcessSpec& spec) {
  std::vector<UniqueFd> sources;
  for (const int given : spec.descriptors) {
    UniqueFd null;
    if (given < 0) null.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (given < 0 && !null) return unexpected(spawn_failure(spec, "descriptors", errno));
    UniqueFd source(duplicate_above_targets(given < 0 ? null.get() : given, spec));
    if (!source) return unexpected(spawn_failure(spec, "descriptors", errno));
    sources.push_back(std::move(source));
  }
  return sources;
}

struct StatusPipe {
  UniqueFd read;
  UniqueFd write;
};

Result<StatusPipe> status_pipe(const ProcessSpec& spec) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unexpected(spawn_failure(spec, "descriptors", errno));
  StatusPipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  pipe.write.reset(duplicate_above_targets(pipe.write.get(), spec));
  if (!pipe.write) return unexpected(spawn_failure(spec, "descriptors", errno));
  return pipe;
}

// Blocks every signal while forking, so that no handler of the parent runs in the child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Boost.Process's extension point: takes part in the fork, on both sides of it.
struct Hygiene : bp::extend::handler {
  const ChildSetup* setup;
  char* const* argv;
  char** envp;
  pid_t* pid;
  int* fork_error;

  template <class Executor>
  void on_setup(Executor& executor) const {
    executor.cmd_line = argv;  // bytes as they are, argv[0] included
    executor.env = envp;
  }
  template <class Executor>
  void on_exec_setup(Executor& /*executor*/) const {
    setup->run();
  }
  template <class Executor>
  void on_exec_error(Executor& /*executor*/, const std::error_code& error) const {
    setup->report(ChildStep::exec, error.value());
    ::_exit(ChildSetup::kFailed);
  }
  template <class Executor>
  void on_success(Executor& executor) const {
    *pid = executor.pid;
  }
  template <class Executor>
  void on_fork_error(Executor& /*executor*/, const std::error_code& error) const {
    *fork_error = error.value();
  }
};

class Launcher final : public ProcessLauncher {
 public:
  explicit Launcher(std::optional<rlimit> open_files) : open_files_(open_files) {}

  Result<std::unique_ptr<Process>> launch(const ProcessSpec& spec) override {
    if (auto right = check(spec); !right) return unexpected(right.error());
    auto sources = sources_of(spec);
    if (!sources) return unexpected(sources.error());
    std::vector<int> numbers;
    numbers.reserve(sources->size());
    for (const auto& source : *sources) numbers.push_back(source.get());

    for (int attempt = 1;; ++attempt) {
      auto process = launch_once(spec, numbers);
      // Another child, forked while the program was being written, still holds the file open
      // for writing until its own exec: that ends by itself.
      if (process || process.error().error_number != ETXTBSY || attempt == kBusyTries) return process;
      std::this_thread::sleep_for(milliseconds(1 << (attempt - 1)));
    }
  }

 private:
  Result<std::unique_ptr<Process>> launch_once(const ProcessSpec& spec, const std::vector<int>& sources) {
    auto pipe = status_pipe(spec);
    if (!pipe) return unexpected(pipe.error());
    const auto argv = pointers_to(spec.argv);
    auto envp = pointers_to(spec.environment);
    ChildSetup setup;
    setup.parent = ::getpid();
    setup.sources = sources;
    setup.working_directory = spec.working_directory.empty() ? "/" : spec.working_directory.c_str();
    setup.open_files = open_files_ ? &*open_files_ : nullptr;
    setup.outlives_parent = spec.outlives_launcher;
    setup.status_pipe = pipe->write.get();

    pid_t pid = -1;
    Hygiene hygiene;
    hygiene.setup = &setup;
    hygiene.argv = argv.data();
    hygiene.envp = envp.data();
    hygiene.pid = &pid;
    int fork_error = 0;
    hygiene.fork_error = &fork_error;
    try {
      const SignalsBlocked blocked;
      // ignore_error: without Boost's own error pipe, which other children inherit (it is made by
      // pipe(2)) and whose number may be a target's. Ours tells the same and the step.
      bp::child child(bp::exe = spec.argv.front(), bp::args = std::vector<std::string>(), bp::ignore_error, hygiene);
      child.detach();  // its destructor would kill
    } catch (const std::exception& problem) {
      return unexpected(make_failure(FailureKind::spawn_failed, Phase::spawn,
                                     fmt::format("\"{}\" could not be started: {}", spec.argv.front(), problem.what()),
                                     "fork"));
    }
    pipe->write.reset();
    return conclude(spec, pid, fork_error, pipe->read.get());
  }

  static Result<std::unique_ptr<Process>> conclude(const ProcessSpec& spec, pid_t pid, int fork_error,
                                                   int status_read) {
    if (pid <= 0) return unexpected(spawn_failure(spec, "fork", fork_error != 0 ? fork_error : EAGAIN));
    ChildReport report;
    ssize_t got = 0;
    do {
      got = ::read(status_read, &report, sizeof report);
    } while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(sizeof report)) {
      reap(pid);
      return unexpected(spawn_failure(spec, name_of(report.step), report.error_number));
    }
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd) {
      const int open_error = errno;
      ::kill(pid, SIGKILL);  // ours and not reaped: the number can't be another's yet
      reap(pid);
      return unexpected(spawn_failure(spec, "pidfd", open_error));
    }
    return std::make_unique<ChildProcess>(pid, std::move(pidfd));
  }

  static void reap(pid_t pid) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::optional<rlimit> open_files_;
};

}  // namespace

std::unique_ptr<ProcessLauncher> make_process_launcher(std::optional<rlimit> open_files) {
  return std::make_unique<Launcher>(open_files);
}

bool child_statuses_are_discarded() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) != 0) return false;
  return action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0;
}

}  // namespace exechost::keeper

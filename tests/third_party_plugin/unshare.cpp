// A backend that starts each command in namespaces of its own through unshare(1), with ExecHost's guest as
// process 1. Files are not isolated: it makes no view, and says so by leaving the capability out.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exechost/backend.hpp"

namespace {

namespace sdk = exechost::sdk;

constexpr const char* kProgram = "/usr/bin/unshare";

// unshare and its options. Killing it kills its child (--kill-child), which is process 1 of the new PID
// namespace (--fork): with that the kernel ends everything in it.
std::vector<std::string> unshare(bool network) {
  std::vector<std::string> words{kProgram,      "--user", "--map-root-user", "--mount", "--propagation=private",
                                 "--ipc",       "--uts",  "--pid",           "--fork",  "--kill-child",
                                 "--mount-proc"};
  if (!network) words.emplace_back("--net");
  words.emplace_back("--");
  return words;
}

struct Pipe {
  sdk::Fd read_end;
  sdk::Fd write_end;

  // What is in it, without waiting; its first line.
  std::string first_line() const {
    char buffer[512];
    const ssize_t count = ::read(read_end.get(), buffer, sizeof buffer);
    const std::string text(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
    return text.substr(0, text.find('\n'));
  }
};

sdk::Outcome<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) return Pipe{sdk::Fd(ends[0]), sdk::Fd(ends[1])};
  sdk::Failure failure;
  failure.kind = sdk::Kind::spawn_failed;
  failure.phase = sdk::Phase::spawn;
  failure.error_number = errno;
  failure.step = "pipe";
  failure.message = "there is no pipe for what unshare has to say";
  return failure;
}

// The number of the one child that the process behind `parent` has, 0 when there is none.
int only_child(int parent) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(parent));
  std::string pid;
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("Pid:\t")) pid = line.substr(5);
  }
  int child = 0;
  std::ifstream("/proc/" + pid + "/task/" + pid + "/children") >> child;
  return child;
}

// A pidfd of it. The number could be somebody else's by the time it is opened, so it is looked at again: unshare
// makes one child and never another.
sdk::Fd open_only_child(int parent) {
  const int child = only_child(parent);
  if (child <= 0) return {};
  sdk::Fd opened(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  return only_child(parent) == child ? std::move(opened) : sdk::Fd();
}

class Execution final : public sdk::Execution {
 public:
  Execution(sdk::Process process, Pipe messages) : process_(std::move(process)), messages_(std::move(messages)) {}
  ~Execution() override { kill(); }

  int event_fd() override { return process_.pidfd(); }

  // unshare ends after process 1, whose status it takes over; and process 1 after everything in its namespace.
  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& /*call*/) override {
    const std::optional<int> status = process_.try_wait();
    if (!status) return std::optional<sdk::Event>();
    if (WIFEXITED(*status) && WEXITSTATUS(*status) != 0) {
      const std::string text = messages_.first_line();
      sdk::Failure failure;
      failure.kind = sdk::Kind::provision_failed;
      failure.step = "unshare";
      failure.message = "unshare ended with status " + std::to_string(WEXITSTATUS(*status)) +
                        (text.empty() ? " and said nothing" : ": " + text);
      failure.hint = "`exechost backends --verbose` shows what this machine lacks";
      return failure;
    }
    sdk::Event event;
    event.kind = sdk::Event::Kind::ended;
    event.wait_status = *status;
    return std::optional<sdk::Event>(event);
  }

  // Other signals are the guest's to pass on.
  int signal(int number) override { return number == SIGKILL ? kill() : -ENOTSUP; }

 private:
  // Process 1 rather than unshare, so that unshare sees it end and its own end proves that nothing is left.
  // When there is no child yet, unshare itself: a child made in this very moment dies with it.
  int kill() const {
    if (const sdk::Fd init = open_only_child(process_.pidfd())) {
      return ::syscall(SYS_pidfd_send_signal, init.get(), SIGKILL, nullptr, 0) == 0 ? 0 : -errno;
    }
    return process_.try_wait() ? -ESRCH : process_.signal(SIGKILL);
  }

  sdk::Process process_;
  Pipe messages_;
};

class Environment final : public sdk::Environment {
 public:
  Environment(sdk::Host host, bool network) : host_(host), network_(network) {}

  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& request,
                                                      const sdk::Call& call) override {
    if (!request.has_guest()) {
      sdk::Failure failure;
      failure.kind = sdk::Kind::unsupported;
      failure.phase = sdk::Phase::spawn;
      failure.message = "the backend unshare starts commands through the guest only";
      return failure;
    }
    sdk::Outcome<Pipe> messages = make_pipe();
    if (!messages) return messages.failure();
    sdk::ProcessSpec spec;
    spec.arguments = unshare(network_);
    for (std::string& argument : request.arguments()) spec.arguments.push_back(std::move(argument));
    // What unshare has to say must not mix with the command's output: the guest takes the command's streams
    // from where these options say.
    for (const char* option : {"--stdin-fd=4", "--stdout-fd=5", "--stderr-fd=6"}) spec.arguments.emplace_back(option);
    spec.environment = request.environment();
    spec.working_directory = request.working_directory();
    spec.descriptors = {-1,
                        -1,
                        messages->write_end.get(),
                        request.control_fd(),
                        request.stdin_fd(),
                        request.stdout_fd(),
                        request.stderr_fd()};
    sdk::Outcome<sdk::Process> process = host_.spawn(spec, call);
    if (!process) return process.failure();
    messages->write_end.reset();
    return std::unique_ptr<sdk::Execution>(std::make_unique<Execution>(std::move(*process), std::move(*messages)));
  }

  // Namespaces end with the last process in them, and the host has released every execution.
  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& /*call*/) override { return {}; }

 private:
  sdk::Host host_;
  bool network_;
};

class Backend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host host, std::string_view /*settings*/,
                                                            const sdk::Call& /*call*/) {
    return std::unique_ptr<sdk::Backend>(std::make_unique<Backend>(host));
  }
  explicit Backend(sdk::Host host) : host_(host) {}

  // Every namespace at once, and in them unshare's own --version: no other program has to be there.
  sdk::Outcome<std::string> probe(const sdk::Call& call) override {
    if (::access(kProgram, X_OK) != 0) return not_ready("/usr/bin/unshare is not there", "install util-linux");
    sdk::Outcome<Pipe> messages = make_pipe();
    if (!messages) return messages.failure();
    sdk::ProcessSpec spec;
    spec.arguments = unshare(false);
    spec.arguments.insert(spec.arguments.end(), {kProgram, "--version"});
    spec.descriptors = {-1, -1, messages->write_end.get()};
    sdk::Outcome<sdk::Process> process = host_.spawn(spec, call);
    if (!process) return process.failure();
    const sdk::Outcome<int> status = process->wait(call);
    if (!status) return status.failure();
    if (*status != 0) {
      return not_ready("unshare can't make the namespaces here: " + messages->first_line(),
                       "user namespaces may be switched off (sysctl user.max_user_namespaces), or a container "
                       "around this may forbid them");
    }
    std::string capabilities;
    for (const char* name :
         {"processes", "users", "network.none", "network.full", "stdin", "pty", "resize", "signals", "tree_kill"}) {
      if (!capabilities.empty()) capabilities += ',';
      capabilities += sdk::json_quote(name) + R"(:{"grade":"kernel","evidence":"unshare made every namespace"})";
    }
    return "{\"ready\":true,\"capabilities\":{" + capabilities + "}}";
  }

  sdk::Outcome<sdk::Opened> open(std::string_view document, const sdk::Call& /*call*/) override {
    const std::optional<std::string> guest = sdk::json_string(document, {"init", "source"});
    const std::optional<std::string> network = sdk::json_string(document, {"network", "mode"});
    if (!guest || (network != "none" && network != "full")) {
      sdk::Failure failure;
      failure.kind = sdk::Kind::unsupported;
      failure.message = guest ? "the backend unshare has no network of the mode " + network.value_or("(none given)")
                              : "the backend unshare can't do without the guest (init.source)";
      return failure;
    }
    return sdk::Opened{std::make_unique<Environment>(host_, network == "full"),
                       "{\"init\":" + sdk::json_quote(*guest) + ",\"details\":{}}"};
  }

  // Nothing outlives the keeper: the host kills unshare, and unshare's end is its child's.
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }

 private:
  static std::string not_ready(const std::string& reason, const std::string& hint) {
    return "{\"ready\":false,\"reason\":" + sdk::json_quote(reason) + ",\"hint\":" + sdk::json_quote(hint) +
           ",\"capabilities\":{}}";
  }

  sdk::Host host_;
};

}  // namespace

EXECHOST_PLUGIN(Backend, "unshare", "1.0.0");

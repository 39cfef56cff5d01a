// The backend @NAME@. So far each command is a plain process of this machine, started by the host: nothing
// is isolated, and the manifest says so.
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exechost/backend.hpp"

namespace {

namespace sdk = exechost::sdk;

sdk::Failure unsupported(sdk::Phase phase, const char* message) {
  sdk::Failure failure;
  failure.kind = sdk::Kind::unsupported;
  failure.phase = phase;
  failure.message = message;
  return failure;
}

// One command, under ExecHost's guest: the guest starts it, says so, passes signals on and ends what is
// left of it. This end sees the guest's process.
class Execution final : public sdk::Execution {
 public:
  explicit Execution(sdk::Process process) : process_(std::move(process)) {}

  // A pidfd is readable when its process has ended.
  int event_fd() override { return process_.pidfd(); }

  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& /*call*/) override {
    const std::optional<int> status = process_.try_wait();
    if (!status) return std::optional<sdk::Event>();
    sdk::Event event;
    event.kind = sdk::Event::Kind::ended;
    event.wait_status = *status;
    return std::optional<sdk::Event>(event);
  }

  // Asked only when the guest does not answer any more. Processes that have left the command behind stay:
  // hence tree_kill's grade.
  int signal(int number) override { return number == SIGKILL ? process_.signal(SIGKILL) : -ENOTSUP; }

 private:
  sdk::Process process_;  // its destructor kills a process that still runs
};

class Environment final : public sdk::Environment {
 public:
  explicit Environment(sdk::Host host) : host_(host) {}

  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& request,
                                                      const sdk::Call& call) override {
    if (!request.has_guest()) return unsupported(sdk::Phase::spawn, "@NAME@ starts commands through the guest only");
    // To start it inside something, put that program and its options before the arguments, and hand the
    // descriptors through.
    sdk::ProcessSpec spec;
    spec.arguments = request.arguments();
    spec.environment = request.environment();
    spec.working_directory = request.working_directory();
    spec.descriptors = {request.stdin_fd(), request.stdout_fd(), request.stderr_fd(), request.control_fd()};
    sdk::Outcome<sdk::Process> process = host_.spawn(spec, call);
    if (!process) return process.failure();
    return std::unique_ptr<sdk::Execution>(std::make_unique<Execution>(std::move(*process)));
  }

  // A process is all there ever is of it, and the host has released every execution.
  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& /*call*/) override { return {}; }

 private:
  sdk::Host host_;
};

class Backend final : public sdk::Backend {
 public:
  // `settings` fits the manifest's schema and has its defaults.
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host host, std::string_view settings,
                                                            const sdk::Call& /*call*/) {
    const std::string greeting = sdk::json_string(settings, {"greeting"}).value_or("");
    if (!greeting.empty()) host.info(greeting);
    return std::unique_ptr<sdk::Backend>(std::make_unique<Backend>(host));
  }
  explicit Backend(sdk::Host host) : host_(host) {}

  // What holds on this machine now; what is left out counts as unsupported, whatever the manifest says. When
  // something is missing: {"ready":false,"reason":"...","hint":"what to do about it","capabilities":{}}.
  sdk::Outcome<std::string> probe(const sdk::Call& /*call*/) override {
    return std::string(R"({"ready": true, "capabilities": {
      "network.full": {"grade": "kernel", "evidence": "plain processes"},
      "stdin": {"grade": "kernel", "evidence": "plain processes"},
      "pty": {"grade": "kernel", "evidence": "plain processes"},
      "resize": {"grade": "kernel", "evidence": "plain processes"},
      "signals": {"grade": "kernel", "evidence": "plain processes"},
      "tree_kill": {"grade": "advisory", "evidence": "plain processes"}
    }})");
  }

  // The answer says where the guest is inside. There is no inside yet, so where it is on this machine.
  sdk::Outcome<sdk::Opened> open(std::string_view document, const sdk::Call& /*call*/) override {
    const std::optional<std::string> guest = sdk::json_string(document, {"init", "source"});
    if (!guest) return unsupported(sdk::Phase::provision, "@NAME@ can't do without the guest (init.source)");
    return sdk::Opened{std::make_unique<Environment>(host_),
                       "{\"init\":" + sdk::json_quote(*guest) + ",\"details\":{}}"};
  }

  // Nothing outlives the keeper, ExecHost's process that calls this: the host kills what it started.
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }

 private:
  sdk::Host host_;
};

}  // namespace

EXECHOST_PLUGIN(Backend, "@NAME@", "0.1.0");

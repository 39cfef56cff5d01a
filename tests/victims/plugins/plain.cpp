// A complete backend without isolation: each command is a process of this machine, started by the
// host. The keeper's tests run commands in it; docs/writing-a-backend.md explains it.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "exechost/backend.hpp"

namespace {

namespace sdk = exechost::sdk;
using nlohmann::json;

// The host starts every process in a session of its own, so its id is its group's too. A pidfd
// shows it in /proc (pidfd_open(2)).
pid_t group_of(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("Pid:", 0) == 0) return static_cast<pid_t>(std::stol(line.substr(4)));
  }
  return -1;
}

class PlainExecution final : public sdk::Execution {
 public:
  PlainExecution(sdk::Process process, sdk::Fd started, sdk::Fd events)
      : process_(std::move(process)),
        started_(std::move(started)),
        events_(std::move(events)),
        group_(group_of(process_.pidfd())) {}
  ~PlainExecution() override { PlainExecution::signal(SIGKILL); }

  // Two things can be new: that it has started, which is so at once, and that it has ended.
  static sdk::Outcome<std::unique_ptr<sdk::Execution>> follow(sdk::Process process) {
    sdk::Fd started(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    sdk::Fd events(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (!started || !events || ::epoll_ctl(events.get(), EPOLL_CTL_ADD, started.get(), &readable) != 0 ||
        ::epoll_ctl(events.get(), EPOLL_CTL_ADD, process.pidfd(), &readable) != 0) {
      sdk::Failure failure;
      failure.kind = sdk::Kind::spawn_failed;
      failure.phase = sdk::Phase::spawn;
      failure.error_number = errno;
      failure.step = "epoll";
      failure.message = "the process can't be watched";
      return failure;
    }
    return std::unique_ptr<sdk::Execution>(
        std::make_unique<PlainExecution>(std::move(process), std::move(started), std::move(events)));
  }

  int event_fd() override { return events_.get(); }

  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& /*call*/) override {
    if (started_) {
      started_.reset();  // closing takes it out of the epoll set
      return std::optional<sdk::Event>(sdk::Event{});
    }
    pollfd ended{process_.pidfd(), POLLIN, 0};
    if (::poll(&ended, 1, 0) != 1) return std::optional<sdk::Event>();

    const std::lock_guard lock(mutex_);
    // As long as it has not been waited for, nobody else can get its id: the group is surely ours.
    if (group_ > 1) ::kill(-group_, SIGKILL);
    group_ = -1;
    const std::optional<int> status = process_.try_wait();
    if (!status) return std::optional<sdk::Event>();
    sdk::Event event;
    event.kind = sdk::Event::Kind::ended;
    event.wait_status = *status;
    return std::optional<sdk::Event>(event);
  }

  int signal(int number) override {
    const std::lock_guard lock(mutex_);
    if (group_ <= 1) return -ESRCH;
    return ::kill(-group_, number) == 0 ? 0 : -errno;
  }

 private:
  sdk::Process process_;
  sdk::Fd started_;  // empty: told
  sdk::Fd events_;
  std::mutex mutex_;  // signal() comes from any thread
  pid_t group_;       // -1: it has ended
};

class PlainEnvironment final : public sdk::Environment {
 public:
  explicit PlainEnvironment(sdk::Host host) : host_(host) {}

  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& request,
                                                      const sdk::Call& call) override {
    sdk::ProcessSpec spec;
    spec.arguments = request.arguments();
    spec.environment = request.environment();
    spec.working_directory = request.working_directory();
    spec.descriptors = {request.stdin_fd(), request.stdout_fd(), request.stderr_fd()};
    if (request.has_guest()) spec.descriptors.push_back(request.control_fd());  // becomes 3
    sdk::Outcome<sdk::Process> process = host_.spawn(spec, call);
    if (!process) return process.failure();
    return PlainExecution::follow(std::move(*process));
  }

  // A process is all there ever is of it, and the host has released every execution.
  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& /*call*/) override { return {}; }

 private:
  sdk::Host host_;
};

// Where the guest is inside: there is no inside, so where it is on this machine.
std::string guest_path(std::string_view document) {
  const json parsed = json::parse(document);
  const json init = parsed.value("init", json());
  if (init.is_string()) return init.get<std::string>();
  return init.is_object() ? init.value("source", "") : "";
}

class PlainBackend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host host, std::string_view settings,
                                                            const sdk::Call& /*call*/) {
    const std::string greeting = json::parse(settings).value("greeting", "");
    if (!greeting.empty()) host.info(greeting);
    return std::unique_ptr<sdk::Backend>(std::make_unique<PlainBackend>(host));
  }
  explicit PlainBackend(sdk::Host host) : host_(host) {}

  sdk::Outcome<std::string> probe(const sdk::Call& /*call*/) override {
    json capabilities = json::object();
    for (const char* const name : {"network.full", "stdin", "pty", "signals"}) {
      capabilities[name] = {{"grade", "kernel"}, {"evidence", "plain processes"}};
    }
    capabilities["tree_kill"] = {{"grade", "advisory"}, {"evidence", "plain processes"}};
    return json{{"ready", true}, {"capabilities", capabilities}}.dump();
  }

  sdk::Outcome<sdk::Opened> open(std::string_view document, const sdk::Call& /*call*/) override {
    const json answer{{"init", guest_path(document)}, {"details", json::object()}};
    return sdk::Opened{std::make_unique<PlainEnvironment>(host_), answer.dump()};
  }

  // Nothing outlives the keeper: the host kills what it started.
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return std::string("[]"); }

 private:
  sdk::Host host_;
};

}  // namespace

EXECHOST_PLUGIN(PlainBackend, "plain", "1.0.0");

#include "tests/mutants/environment.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>

#include "tests/mutants/command_faults.hpp"
#include "tests/mutants/launch.hpp"
#include "tests/mutants/stream_faults.hpp"

namespace mutants {

namespace sdk = exechost::sdk;
using nlohmann::json;

namespace {

constexpr auto kTooLong = std::chrono::seconds(10);
constexpr double kThousandths = 1000;

sdk::Failure lost() {
  sdk::Failure failure;
  failure.kind = sdk::Kind::environment_lost;
  failure.phase = sdk::Phase::spawn;
  failure.message = "the environment is gone";
  return failure;
}

sdk::Failure kept(int error) {
  sdk::Failure failure;
  failure.kind = sdk::Kind::unavailable;
  failure.phase = sdk::Phase::cleanup;
  failure.error_number = error;
  failure.step = "unlink";
  failure.message = "the environment's file can't be removed";
  return failure;
}

}  // namespace

// What happens before anything is started. A failure: nothing is.
std::optional<sdk::Failure> MutantEnvironment::misbehave(const sdk::Call& call) {
  switch (parts_.fault) {
    case Fault::ignores_deadline:
      if (call.deadline_ns() != INT64_MAX) std::this_thread::sleep_for(kTooLong);
      return std::nullopt;
    case Fault::blocks_for_ever:
      for (;;) ::pause();
    case Fault::calls_exit: std::_Exit(0);
    case Fault::loses_environment_after_first_command:
      if (spawned_ != 0) return lost();
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::vector<std::string> MutantEnvironment::limits() const {
  std::vector<std::string> options;
  const json memory = parts_.document.value("memory", json());
  if (memory.is_number_unsigned() && parts_.fault != Fault::lies_about_memory) {
    options.push_back("--memory=" + memory.dump());
  }
  const json cpu = parts_.document.value("cpu", json());
  if (cpu.is_number()) {
    double processors = cpu.get<double>();
    if (parts_.fault == Fault::rounds_cpu_to_zero) processors = std::floor(processors);
    options.push_back("--cpu=" + std::to_string(std::llround(processors * kThousandths)));
  }
  const json network = parts_.document.value("network", json::object());
  if (network.value("mode", "full") == "none" && parts_.variant.gives == Needs::offline &&
      parts_.fault != Fault::lies_about_network) {
    options.emplace_back("--offline");
  }
  return options;
}

void MutantEnvironment::hold(int fd) {
  const std::lock_guard lock(mutex_);
  held_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

sdk::Outcome<std::unique_ptr<sdk::Execution>> MutantEnvironment::spawn(const sdk::SpawnRequest& request,
                                                                       const sdk::Call& call) {
  if (auto failure = misbehave(call)) return *failure;
  auto streams = make_streams(request, parts_.fault);
  if (!streams) return streams.failure();
  if (parts_.fault == Fault::holds_stdout_open) hold(request.stdout_fd());

  Launch what;
  what.runner = parts_.variant.runner;
  what.options = reach_options(parts_.fault);
  for (std::string& option : limits()) what.options.push_back(std::move(option));
  if (parts_.fault == Fault::reruns_on_failure) what.options.emplace_back("--rerun");
  what.command = {request.arguments(), request.environment(), std::string(request.working_directory())};
  if (!request.has_guest()) what.command = changed(std::move(what.command), parts_.fault);
  what.streams = {streams->in, streams->out, streams->err};
  what.control = request.control_fd();
  if (parts_.fault == Fault::leaks_descriptors) what.extra = call.cancel_fd() >= 0 ? call.cancel_fd() : streams->out;
  auto runner = launch(parts_.host, what, call);
  if (!runner) return runner.failure();
  ++spawned_;
  MutantExecution::Parts parts;
  parts.runner = std::move(*runner);
  parts.relays = std::move(streams->relays);
  parts.siblings = siblings_;
  parts.program = what.command.arguments.empty() ? "" : what.command.arguments.front();
  parts.fault = parts_.fault;
  parts.guest = request.has_guest();
  return MutantExecution::follow(std::move(parts));
}

sdk::Outcome<void> MutantEnvironment::close(bool /*purge*/, const sdk::Call& /*call*/) {
  if (parts_.fault == Fault::crashes_in_close) std::abort();
  if (parts_.fault == Fault::close_not_idempotent) return {};
  const int error = parts_.resources.remove(parts_.document.value("name", ""));
  if (error != 0) return kept(error);
  return {};
}

}  // namespace mutants

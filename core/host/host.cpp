#include "exechost/host.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "core/admission/admission.hpp"
#include "core/base/clock.hpp"
#include "core/base/open_files.hpp"
#include "core/host/backends_report.hpp"
#include "core/host/host_core.hpp"
#include "core/host/request_run.hpp"
#include "core/plan/plan.hpp"

namespace exechost {
namespace {

using execution::SharedFd;

Failure on_reactor_failure() {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = "a command can't be started from an output callback, which must not block";
  failure.hint = "start it from another thread";
  return failure;
}

Result<std::shared_ptr<SharedFd>> callers_descriptor(Reactor& reactor, int fd, SharedFd::Use use) {
  if (fd < 0) return std::shared_ptr<SharedFd>();
  return SharedFd::open(reactor.context(), fd, use);
}

// The caller's descriptors and bytes, ready for any number of attempts.
Result<execution::StreamsSpec> open_streams(Reactor& reactor, const Request& request) {
  execution::StreamsSpec streams;
  auto out = callers_descriptor(reactor, request.stdout_descriptor, SharedFd::Use::write);
  if (!out) return unexpected(out.error());
  auto err = callers_descriptor(reactor, request.stderr_descriptor, SharedFd::Use::write);
  if (!err) return unexpected(err.error());
  streams.out = std::move(*out);
  streams.err = std::move(*err);
  switch (request.standard_input.kind) {
    case StdinSource::Kind::none: break;
    case StdinSource::Kind::bytes:
      streams.input.bytes = std::make_shared<const std::string>(request.standard_input.bytes);
      break;
    case StdinSource::Kind::stream: streams.input.buffer = std::make_shared<execution::StdinBuffer>(); break;
    case StdinSource::Kind::descriptor: {
      auto in = SharedFd::open(reactor.context(), request.standard_input.descriptor, SharedFd::Use::read);
      if (!in) return unexpected(in.error());
      streams.input.descriptor = std::move(*in);
      break;
    }
  }
  streams.on_output = request.on_output;
  streams.tty = request.tty;
  streams.rows = request.tty_rows;
  streams.columns = request.tty_columns;
  return streams;
}

}  // namespace

struct ExecHost::Impl {
  explicit Impl(const HostOptions& options) : core(options) {}

  Result<host::Prepared> prepare(const Request& request) {
    if (core.on_reactor_thread()) return unexpected(on_reactor_failure());
    if (auto ready = core.ready(); !ready) return unexpected(ready.error());
    return core.planner().prepare(request);
  }

  static Result<plan::Plan> plan_of(const Request& request, const host::Prepared& prepared) {
    return plan::make_plan({request, prepared.settings, prepared.backends, prepared.facts});
  }

  // What is executed, from a request to a run on the reactor.
  Result<std::shared_ptr<Execution::State>> start(const Request& request, std::int64_t began_ns) {
    auto started = prepare_and_start(request, began_ns);
    if (!started) name_open_files_limit(started.error());
    return started;
  }

  Result<std::shared_ptr<Execution::State>> prepare_and_start(const Request& request, std::int64_t began_ns) {
    auto prepared = prepare(request);
    if (!prepared) return unexpected(prepared.error());
    auto plan = plan_of(request, *prepared);
    if (!plan) return unexpected(plan.error());
    if (auto decision = admission::decide(*plan); !decision) return unexpected(decision.error());
    auto streams = open_streams(core.reactor(), request);
    if (!streams) return unexpected(streams.error());
    auto keeper = core.keeper();
    if (!keeper) return unexpected(keeper.error());

    auto state = std::make_shared<Execution::State>(core.reactor(), streams->input.buffer, request.tty);
    host::RequestContext context;
    context.request = request;
    context.prepared = std::move(*prepared);
    context.plan = std::move(*plan);
    context.keeper = std::move(*keeper);
    context.guest_program = core.context().installation->guest_program;
    context.spill_dir = core.context().spill_dir();
    context.streams = std::move(*streams);
    context.began_ns = began_ns;
    context.planning = std::chrono::microseconds((monotonic_now_ns() - began_ns) / 1000);
    add(state);
    auto run = std::make_shared<host::RequestRun>(core.reactor(), state, std::move(context));
    core.reactor().post([this, run = std::move(run), state] { run->start([this, state] { remove(state); }); });
    return state;
  }

  void add(const std::shared_ptr<Execution::State>& state) {
    const std::lock_guard lock(mutex);
    active.insert(state);
  }
  void remove(const std::shared_ptr<Execution::State>& state) {
    const std::lock_guard lock(mutex);
    active.erase(state);
    idle.notify_all();
  }
  void end_all() {
    std::unique_lock lock(mutex);
    for (const auto& state : active) state->cancel();
    idle.wait(lock, [this] { return active.empty(); });
  }

  std::mutex mutex;
  std::condition_variable idle;
  std::set<std::shared_ptr<Execution::State>> active;
  host::HostCore core;  // last: its reactor thread ends before what it touches goes
};

ExecHost::ExecHost(HostOptions options) : impl_(std::make_unique<Impl>(options)) {}

ExecHost::~ExecHost() { impl_->end_all(); }

ExecResult ExecHost::run(const Request& request, std::stop_token stop) {
  const std::int64_t began_ns = monotonic_now_ns();
  auto started = impl_->start(request, began_ns);
  if (!started) return host::failed_result(started.error(), began_ns);
  Execution execution(std::move(*started));
  const std::stop_callback on_stop(stop, [&execution] { execution.cancel(); });
  return execution.wait();
}

Result<Execution> ExecHost::start(const Request& request) {
  auto started = impl_->start(request, monotonic_now_ns());
  if (!started) return unexpected(started.error());
  return Execution(std::move(*started));
}

Result<std::string> ExecHost::explain_json(const Request& request) {
  auto prepared = impl_->prepare(request);
  if (!prepared) return unexpected(prepared.error());
  const auto plan = Impl::plan_of(request, *prepared);
  if (!plan) return unexpected(plan.error());
  return plan::to_json(*plan).dump();
}

Result<std::string> ExecHost::explain_text(const Request& request) {
  auto prepared = impl_->prepare(request);
  if (!prepared) return unexpected(prepared.error());
  const auto plan = Impl::plan_of(request, *prepared);
  if (!plan) return unexpected(plan.error());
  return plan::to_text(*plan);
}

Result<std::string> ExecHost::backends_json() {
  if (impl_->core.on_reactor_thread()) return unexpected(on_reactor_failure());
  if (auto ready = impl_->core.ready(); !ready) return unexpected(ready.error());
  auto found = host::look_at_backends(impl_->core, Request{}, true);
  if (!found) return unexpected(found.error());
  return host::backends_to_json(*found).dump();
}

}  // namespace exechost

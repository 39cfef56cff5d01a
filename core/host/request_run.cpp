#include "core/host/request_run.hpp"

#include <algorithm>
#include <utility>

#include "core/admission/admission.hpp"
#include "core/base/clock.hpp"
#include "core/base/open_files.hpp"
#include "core/environment/one_shot.hpp"

namespace exechost::host {
namespace {

std::chrono::milliseconds since(std::int64_t began_ns) {
  return std::chrono::milliseconds((monotonic_now_ns() - began_ns) / 1'000'000);
}

std::int64_t deadline_of(const plan::Plan& plan, std::int64_t began_ns) {
  if (!plan.timeout) return kNoDeadline;
  const std::int64_t span = std::chrono::nanoseconds(*plan.timeout).count();
  return span > kNoDeadline - began_ns ? kNoDeadline : began_ns + span;
}

}  // namespace

bool allows_fallback(const ExecResult& result) {
  if (result.status != Status::failed || result.started != Started::no || !result.failure) return false;
  switch (result.failure->kind) {
    case FailureKind::unavailable:
    case FailureKind::provision_failed:
    case FailureKind::plugin_crashed:
    case FailureKind::protocol_error: return true;
    case FailureKind::invalid_request:
    case FailureKind::unsupported:
    case FailureKind::spawn_failed:
    case FailureKind::denied:
    case FailureKind::environment_lost: return false;
  }
  return false;
}

ExecResult failed_result(const Failure& failure, std::int64_t began_ns) {
  ExecResult result;
  result.failure = failure;
  result.backend = failure.backend;
  result.duration = since(began_ns);
  result.phase_times["plan"] = std::chrono::microseconds((monotonic_now_ns() - began_ns) / 1000);
  return result;
}

RequestRun::RequestRun(Reactor& reactor, std::shared_ptr<ExecutionState> state, RequestContext context)
    : reactor_(reactor),
      state_(std::move(state)),
      context_(std::move(context)),
      deadline_ns_(deadline_of(context_.plan, context_.began_ns)) {}

void RequestRun::start(std::function<void()> done) {
  done_ = std::move(done);
  attempt(std::move(context_.plan));
}

void RequestRun::attempt(plan::Plan plan) {
  const auto shared = std::make_shared<const plan::Plan>(std::move(plan));
  execution::RunSpec spec;
  spec.plan = shared;
  spec.plugin = plugin_choice(context_.prepared.settings, shared->backend, shared->backend_library);
  spec.plugin.settings = shared->backend_settings;
  spec.guest_path = context_.guest_program;
  spec.streams = context_.streams;
  spec.streams.cap_bytes = shared->output.cap_bytes;
  if (shared->output.spill) spec.streams.spill_folder = context_.spill_dir;
  spec.deadline_ns = deadline_ns_;
  auto run = std::make_shared<execution::Run>(reactor_, context_.keeper, environment::make_one_shot(context_.keeper),
                                              std::move(spec));
  run->start([self = shared_from_this(), shared](ExecResult result) { self->ended(shared, std::move(result)); });
  bool cancelled = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->run = run;
    cancelled = state_->cancel_requested;  // before there was a run to cancel
  }
  if (cancelled) run->cancel();
}

void RequestRun::ended(const std::shared_ptr<const plan::Plan>& plan, ExecResult result) {
  for (const auto& [phase, time] : result.phase_times) earlier_phases_[phase] += time;
  if (allows_fallback(result) && try_another(plan, result)) return;
  finish(*plan, std::move(result));
}

bool RequestRun::try_another(const std::shared_ptr<const plan::Plan>& plan, const ExecResult& result) {
  auto& backends = context_.prepared.backends;
  const auto failed = std::find_if(backends.begin(), backends.end(),
                                   [&](const plan::BackendFacts& backend) { return backend.id == plan->backend; });
  if (failed == backends.end()) return false;
  // Planned again with what is now known about this one: whether and where it goes on is the
  // plan's to say, and so is every protection that would be lost.
  failed->unusable = *result.failure;
  auto next = plan::make_plan({context_.request, context_.prepared.settings, backends, context_.prepared.facts});
  if (!next || next->backend == plan->backend || !admission::decide(*next)) return false;
  attempts_.push_back({plan->backend, *result.failure});
  // Not from inside the ended run's own handler.
  reactor_.post([self = shared_from_this(), next = std::move(*next)]() mutable { self->attempt(std::move(next)); });
  return true;
}

void RequestRun::finish(const plan::Plan& plan, ExecResult result) {
  if (result.failure) name_open_files_limit(*result.failure);
  result.tier = plan.tier;
  result.backend = plan.backend;
  result.session = plan.session;
  result.isolation = plan.isolation;
  result.settings = plan.settings;
  result.attempts = std::move(attempts_);
  result.warnings.insert(result.warnings.begin(), plan.warnings.begin(), plan.warnings.end());
  result.phase_times = std::move(earlier_phases_);
  result.phase_times["plan"] += context_.planning;
  result.duration = since(context_.began_ns);
  state_->finish(std::move(result));
  std::exchange(done_, nullptr)();
}

}  // namespace exechost::host

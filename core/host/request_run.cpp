#include "core/host/request_run.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/open_files.hpp"
#include "core/environment/named.hpp"
#include "core/environment/one_shot.hpp"
#include "core/gateway/policy.hpp"
#include "core/host/gateway_run.hpp"
#include "core/host/workspace_copy.hpp"
#include "core/plan/report.hpp"

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
      // A session that is busy is where the command belongs: another place would not be that session.
      return result.failure->step != keeper::kBusyStep;
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

RequestRun::RequestRun(Reactor& reactor, admission::Gate& gate, std::shared_ptr<ExecutionState> state,
                       RequestContext context)
    : reactor_(reactor),
      gate_(gate),
      state_(std::move(state)),
      context_(std::move(context)),
      first_backend_(context_.plan->backend),
      deadline_ns_(deadline_of(*context_.plan, context_.began_ns)) {}

void RequestRun::start(std::function<void()> done) {
  done_ = std::move(done);
  admit(context_.plan);
}

// ---- admission --------------------------------------------------------------------

void RequestRun::admit(const PlanPointer& plan) {
  auto decision = gate_.decide(*plan, context_.rules);
  if (auto refused = admission::refused_without_asking(*plan, decision, gate_.can_ask()))
    return refuse(*plan, std::move(*refused));
  if (auto* asked = std::get_if<admission::Asked>(&decision)) return ask(plan, std::move(*asked));
  attempt(plan);
}

void RequestRun::ask(const PlanPointer& plan, admission::Asked asked) {
  pending_ = std::make_unique<Pending>(reactor_, plan, std::move(asked));
  pending_->began_ns = monotonic_now_ns();
  AdmissionQuestion question = pending_->asked.question;
  if (deadline_ns_ != kNoDeadline) {
    const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns_)};
    question.deadline = deadline;
    pending_->deadline.expires_at(deadline);
    pending_->deadline.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (self && !error) self->withdraw(Status::timed_out);
    });
  }
  gate_.ask(std::move(question), pending_->withdrawn.get_token(),
            [&reactor = reactor_, self = shared_from_this()](Answer answer) {
              reactor.post([self, answer] { self->answered(answer); });
            });
  // Perhaps it was cancelled before there was anything to cancel: then this is called at once.
  pending_->on_cancel.emplace(state_->cancelled.get_token(), [&reactor = reactor_, weak = weak_from_this()] {
    reactor.post([weak] {
      if (const auto self = weak.lock()) self->withdraw(Status::cancelled);
    });
  });
}

// Nothing when another end of the question came first.
std::unique_ptr<RequestRun::Pending> RequestRun::take_pending() {
  if (!pending_) return nullptr;
  pending_->deadline.cancel();
  pending_->on_cancel.reset();
  earlier_phases_["admission"] += std::chrono::microseconds((monotonic_now_ns() - pending_->began_ns) / 1000);
  return std::move(pending_);
}

void RequestRun::answered(Answer answer) {
  const auto pending = take_pending();
  if (!pending) return;
  if (answer != Answer::once && answer != Answer::session) {
    return refuse(*pending->plan, admission::refused_by(*pending->plan, pending->asked, answer));
  }
  if (answer == Answer::session) gate_.remember(admission::grant_of(*pending->plan));
  approval_ = to_string(answer);
  attempt(pending->plan);
}

void RequestRun::withdraw(Status status) {
  const auto pending = take_pending();
  if (!pending) return;
  pending->withdrawn.request_stop();
  ExecResult result;
  result.status = status;
  result.stopped_phase = Phase::admission;
  finish(*pending->plan, std::move(result));
}

void RequestRun::refuse(const plan::Plan& plan, Failure failure) {
  ExecResult result;
  result.failure = std::move(failure);
  finish(plan, std::move(result));
}

// ---- execution --------------------------------------------------------------------

void RequestRun::attempt(const PlanPointer& plan) {
  if (plan->workspace_copy.empty()) return go_on(plan);
  copy_workspace(plan);
}

void RequestRun::copy_workspace(const PlanPointer& plan) {
  const std::int64_t began_ns = monotonic_now_ns();
  auto own = std::make_shared<plan::Plan>(*plan);  // gets what is known only once the copy is made
  const auto copied = [self = shared_from_this(), own, began_ns](const Result<void>& done) {
    self->earlier_phases_["provision"] += std::chrono::microseconds((monotonic_now_ns() - began_ns) / 1000);
    if (done && self->context_.single_run && own->session.empty()) {
      own->warnings.emplace_back("the command worked on a copy of the workspace, which is thrown away with this run");
    }
    if (done) return self->go_on(own);
    ExecResult result;
    const bool stopped = done.error().error_number == ECANCELED;
    if (stopped) {
      result.status = self->state_->cancelled.stop_requested() ? Status::cancelled : Status::timed_out;
      result.stopped_phase = Phase::provision;
    } else {
      result.failure = done.error();
    }
    self->finish(*own, std::move(result));
  };
  try {
    context_.workers->submit([self = shared_from_this(), own, copied] {
      const std::int64_t deadline_ns = self->deadline_ns_;
      const std::stop_token stop = self->state_->cancelled.get_token();
      auto done = provide_copy(*self->context_.copies, *own, self->context_.copy_limits, [stop, deadline_ns] {
        return !stop.stop_requested() && (deadline_ns == kNoDeadline || monotonic_now_ns() < deadline_ns);
      });
      self->reactor_.post([copied, done = std::move(done)] { copied(done); });
    });
  } catch (const std::system_error& error) {  // no thread to be had
    Failure failure;
    failure.kind = FailureKind::unavailable;
    failure.phase = Phase::provision;
    failure.step = "thread";
    failure.error_number = error.code().value();
    failure.message = "no thread can be started to copy the workspace";
    copied(unexpected(std::move(failure)));
  }
}

void RequestRun::go_on(const PlanPointer& plan) {
  if (plan->tier == "gateway") return operate(plan);
  if (plan->backend == first_backend_) return execute(plan, context_.keeper);
  find_keeper(plan);
}

void RequestRun::find_keeper(const PlanPointer& plan) {
  try {
    context_.workers->submit([self = shared_from_this(), plan] {
      auto keeper = self->context_.keeper_for(
          plugin_choice(*self->context_.prepared.settings, plan->backend, plan->backend_library),
          plan->has_named_session());
      self->reactor_.post([self, plan, keeper = std::move(keeper)] { self->execute(plan, keeper); });
    });
  } catch (const std::system_error& error) {  // no thread to be had
    Failure failure;
    failure.kind = FailureKind::unavailable;
    failure.phase = Phase::provision;
    failure.step = "thread";
    failure.backend = plan->backend;
    failure.error_number = error.code().value();
    failure.message = "no thread can be started to find a keeper for the backend";
    execute(plan, unexpected(std::move(failure)));
  }
}

void RequestRun::execute(const PlanPointer& plan, const Result<KeeperPointer>& keeper) {
  if (!keeper) {
    ExecResult result;
    result.failure = keeper.error();
    return ended(plan, std::move(result));
  }
  if (context_.background) return start_background(plan, *keeper);
  execution::RunSpec spec;
  spec.plan = plan;
  spec.plugin = plugin_choice(*context_.prepared.settings, plan->backend, plan->backend_library);
  spec.plugin.settings = plan->backend_settings;
  spec.guest_path = context_.guest_program;
  spec.streams = context_.streams;
  spec.streams.cap_bytes = plan->output.cap_bytes;
  if (plan->output.spill) spec.streams.spill_folder = context_.spill_dir;
  spec.deadline_ns = deadline_ns_;
  auto environments = plan->has_named_session()
                          ? environment::make_named(*keeper, context_.session_owner, context_.request.recreate_session)
                      : plan->persistent ? context_.environments->of(*keeper)
                                         : environment::make_one_shot(*keeper);
  auto run = std::make_shared<execution::Run>(reactor_, *keeper, std::move(environments), std::move(spec));
  run->start([self = shared_from_this(), plan, keeper, weak = std::weak_ptr(run)](ExecResult result) {
    const auto ended = weak.lock();
    if (ended && ended->environment_was_there() && self->was_gone(result)) return self->execute(plan, keeper);
    self->ended(plan, std::move(result));
  });
  bool cancelled = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->run = run;
    cancelled = state_->cancel_requested;  // before there was a run to cancel
  }
  if (cancelled) run->cancel();
}

void RequestRun::start_background(const PlanPointer& plan, const KeeperPointer& keeper) {
  if (!plan->has_named_session()) {
    ExecResult result;
    result.failure = plan::plan_failure(FailureKind::invalid_request,
                                        "a command in the background needs a named session to go on in",
                                        "name one: --session NAME, session.name or TERMINAL_SESSION");
    return ended(plan, std::move(result));
  }
  environment::EnvironmentRequest wanted;
  wanted.plan = plan;
  wanted.plugin = plugin_choice(*context_.prepared.settings, plan->backend, plan->backend_library);
  wanted.plugin.settings = plan->backend_settings;
  wanted.guest_path = context_.guest_program;
  wanted.deadline_ns = deadline_ns_;
  auto environments = environment::make_named(keeper, context_.session_owner, context_.request.recreate_session);
  auto start = std::make_shared<BackgroundStart>(keeper, std::move(environments), std::move(wanted),
                                                 *context_.background, deadline_ns_);
  start->begin([self = shared_from_this(), plan, keeper, start](ExecResult result) {
    if (start->environment_was_there() && self->was_gone(result)) return self->execute(plan, keeper);
    self->ended(plan, std::move(result));
  });
}

// The session's environment went away between two runs, and this one found out before it had started.
bool RequestRun::was_gone(const ExecResult& result) {
  if (result.status != Status::failed || result.started != Started::no || !result.failure ||
      result.failure->kind != FailureKind::environment_lost) {
    return false;
  }
  return !std::exchange(recreated_, true);
}

void RequestRun::operate(const PlanPointer& plan) {
  GatewaySpec spec;
  spec.plan = plan;
  spec.policy = gateway::make_policy(*plan, *context_.prepared.settings, *context_.prepared.facts);
  spec.streams = context_.streams;
  spec.streams.cap_bytes = plan->output.cap_bytes;
  if (plan->output.spill) spec.streams.spill_folder = context_.spill_dir;
  spec.deadline_ns = deadline_ns_;
  spec.cancelled = state_->cancelled.get_token();
  auto run = std::make_shared<GatewayRun>(reactor_, *context_.workers, std::move(spec));
  run->start([self = shared_from_this(), plan](ExecResult result) { self->ended(plan, std::move(result)); });
}

void RequestRun::ended(const PlanPointer& plan, ExecResult result) {
  for (const auto& [phase, time] : result.phase_times) earlier_phases_[phase] += time;
  if (allows_fallback(result) && try_another(plan, result)) return;
  finish(*plan, std::move(result));
}

bool RequestRun::try_another(const PlanPointer& plan, const ExecResult& result) {
  auto& backends = context_.prepared.backends;
  const auto failed = std::find_if(backends.begin(), backends.end(),
                                   [&](const plan::BackendFacts& backend) { return backend.id == plan->backend; });
  if (failed == backends.end()) return false;
  // Planned again with what is now known about this one: whether and where it goes on is the
  // plan's to say, and so is every protection that would be lost.
  failed->unusable = *result.failure;
  auto next = plan::make_plan({context_.request, *context_.prepared.settings, backends, *context_.prepared.facts,
                               gate_.can_ask(), context_.single_run, context_.builtin,
                               context_.copies->tree_path(plan->session)});
  if (!next || next->backend == plan->backend) return false;
  const auto decision = gate_.decide(*next, context_.rules);
  if (admission::refused_without_asking(*next, decision, gate_.can_ask())) return false;
  attempts_.push_back({plan->backend, *result.failure});
  // Not from inside the ended run's own handler.
  reactor_.post(
      [self = shared_from_this(), next = std::make_shared<const plan::Plan>(std::move(*next))] { self->admit(next); });
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
  result.approval = approval_;
  if (recreated_ && result.started != Started::no && !std::exchange(result.environment_recreated, true)) {
    result.warnings.emplace_back("the session's environment was gone; the command ran in a new one");
  }
  result.warnings.insert(result.warnings.begin(), plan.warnings.begin(), plan.warnings.end());
  result.phase_times = std::move(earlier_phases_);
  result.phase_times["plan"] += context_.planning;
  result.duration = since(context_.began_ns);
  state_->finish(std::move(result));
  std::exchange(done_, nullptr)();
}

}  // namespace exechost::host

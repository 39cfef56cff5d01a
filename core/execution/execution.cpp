#include "core/execution/execution.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <utility>

#include "core/execution/spawn_request.hpp"

namespace exechost::execution {
namespace {

using keeper::ExecutionEvent;
using keeper::ReplyStatus;

// A close whose deadline has passed must answer within 2 s (the plugin contract).
constexpr std::chrono::milliseconds kCloseAnswer{2000};

Failure make_failure(FailureKind kind, Phase phase, std::string message) {
  Failure failure;
  failure.kind = kind;
  failure.phase = phase;
  failure.message = std::move(message);
  return failure;
}

}  // namespace

Run::Run(Reactor& reactor, std::shared_ptr<environment::KeeperPort> keeper,
         std::shared_ptr<environment::EnvironmentSource> environments, RunSpec spec, RunLimits limits)
    : reactor_(reactor),
      keeper_(std::move(keeper)),
      environments_(std::move(environments)),
      spec_(std::move(spec)),
      limits_(limits),
      deadline_timer_(reactor.context()),
      step_timer_(reactor.context()),
      close_timer_(reactor.context()),
      delivery_timer_(reactor.context()) {}

// ---- beginning and stopping --------------------------------------------------------

void Run::start(DoneHandler done) {
  done_ = std::move(done);
  phases_.begin(Phase::provision);
  if (spec_.deadline_ns != kNoDeadline) {
    deadline_timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(spec_.deadline_ns)));
    deadline_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (self && !error) self->stop(Status::timed_out);
    });
  }
  environment::EnvironmentRequest request;
  request.plan = spec_.plan;
  request.plugin = spec_.plugin;
  request.guest_path = spec_.guest_path;
  request.deadline_ns = spec_.deadline_ns;
  acquisition_ = environments_->acquire(
      std::move(request),
      [self = shared_from_this()](environment::Acquired acquired) { self->on_acquired(std::move(acquired)); });
}

void Run::cancel() { stop(Status::cancelled); }

void Run::stop(Status status) {
  if (stage_ == Stage::done) return;
  if (decide(status)) result_.stopped_phase = phases_.current();
  switch (stage_) {
    case Stage::opening:
      if (std::exchange(stop_sent_, true)) return;
      environments_->cancel(acquisition_);
      after(step_timer_, limits_.give_up_open, &Run::on_open_given_up);
      return;
    case Stage::spawning:
    case Stage::running:
    case Stage::exited: return kill_command();
    case Stage::over:
      if (streams_) streams_->abandon_delivery();
      return advance();
    case Stage::done: return;
  }
}

void Run::signal(int number) {
  if (takes_signals()) keeper_->signal(execution_, number);
}

Result<void> Run::resize(std::uint16_t rows, std::uint16_t columns) {
  if (streams_) {
    auto resized = streams_->resize(rows, columns);
    // There the command's terminal is another one; the keeper hears of the size by this.
    if (resized && spec_.plan->guest == plan::GuestEntry::stream) signal(SIGWINCH);
    return resized;
  }
  // Not spawned yet: its terminal will be made with this size.
  spec_.streams.rows = rows;
  spec_.streams.columns = columns;
  return {};
}

// ---- environment ------------------------------------------------------------------

void Run::on_acquired(environment::Acquired acquired) {
  if (stage_ == Stage::done) {
    // Nobody waits any more: what came too late is put away. Others may be in it.
    if (acquired.status == ReplyStatus::ok) {
      environments_->release(acquired.lease, environment::Release::intact, deadline_after(limits_.close),
                             [](const keeper::Reply&) {});
    }
    return;
  }
  step_timer_.cancel();
  switch (acquired.status) {
    case ReplyStatus::ok:
      lease_ = std::move(acquired.lease);
      result_.environment_id = lease_->id;
      if (lease_->replaces_lost) {
        result_.environment_recreated = true;
        warn("the session's environment was gone; the command ran in a new one");
      }
      if (!decided_) return spawn();
      break;
    case ReplyStatus::failed: decide_failure(std::move(acquired.failure)); break;
    case ReplyStatus::timed_out:
      if (decide(Status::timed_out)) result_.stopped_phase = Phase::provision;
      break;
    case ReplyStatus::cancelled:
      if (decide(Status::cancelled)) result_.stopped_phase = Phase::provision;
      break;
  }
  command_over();
}

void Run::on_open_given_up() {
  if (stage_ != Stage::opening) return;
  warn(fmt::format("backend {} did not stop opening the environment within {} ms; whatever it still makes is removed",
                   spec_.plan->backend, limits_.give_up_open.count()));
  finish();
}

void Run::close_environment() {
  if (std::exchange(closing_, true)) return;
  phases_.begin(Phase::cleanup);
  const bool keeper_died = result_.failure && result_.failure->kind == FailureKind::plugin_crashed;
  if (!lease_ || keeper_died) {
    closed_ = true;  // a dead keeper's environments end with it; its ledger entries show what is left
    return;
  }
  after(close_timer_, limits_.close + kCloseAnswer, &Run::on_close_limit);
  environments_->release(*lease_, intact_ ? environment::Release::intact : environment::Release::destroy,
                         deadline_after(limits_.close),
                         [self = shared_from_this()](const keeper::Reply& reply) { self->on_closed(reply); });
}

void Run::on_closed(const keeper::Reply& reply) {
  if (std::exchange(closed_, true)) return;
  close_timer_.cancel();
  if (reply.status != ReplyStatus::ok) {
    warn(fmt::format("environment {} could not be removed and may be left behind: {}", lease_->id,
                     reply.status == ReplyStatus::failed ? describe(reply.failure) : "it took too long"));
  }
  if (stage_ != Stage::over) return command_over();
  advance();
}

void Run::on_close_limit() {
  keeper::Reply late;
  late.status = ReplyStatus::timed_out;
  on_closed(late);
}

// ---- command ----------------------------------------------------------------------

void Run::spawn() {
  auto streams = CommandStreams::create(reactor_.context(), spec_.streams);
  if (!streams) {
    decide_failure(streams.error());
    return command_over();
  }
  streams_ = std::move(*streams);
  const plan::Plan& plan = *spec_.plan;
  use_guest_ = plan.guest != plan::GuestEntry::none;
  keeper::SpawnRequest request = spawn_request(plan, *lease_);
  request.stdio = streams_->stdio();
  request.deadline_ns = spec_.deadline_ns;
  stage_ = Stage::spawning;
  phases_.begin(Phase::spawn);
  execution_ =
      keeper_->spawn(request, [self = shared_from_this()](const ExecutionEvent& event) { self->on_event(event); });
  takes_signals_ = true;
  streams_->close_commands_ends();
  streams_->start_output([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->stage_ == Stage::over) self->advance();
  });
}

void Run::on_event(const ExecutionEvent& event) {
  if (stage_ == Stage::over || stage_ == Stage::done) return;
  for (const std::string& warning : event.warnings) warn(warning);
  switch (event.kind) {
    case ExecutionEvent::Kind::confined: return on_confined(event);
    case ExecutionEvent::Kind::started: return on_started();
    case ExecutionEvent::Kind::exited: return on_exited(event);
    case ExecutionEvent::Kind::gone: return on_gone();
    case ExecutionEvent::Kind::failed: return on_failed(event);
  }
}

void Run::on_confined(const ExecutionEvent& event) {
  confined_ = true;
  const plan::Confinement& promised = spec_.plan->confinement;
  if (!promised.seccomp_profile.empty() && !event.seccomp) {
    return break_off(fmt::format("the guest did not install the system call filter \"{}\" that the plan requires",
                                 promised.seccomp_profile));
  }
  if (promised.landlock_required && event.landlock_abi == 0) {
    break_off("the guest did not put on Landlock, which the plan requires and this machine's kernel has");
  }
}

void Run::on_started() {
  start_known_ = true;
  result_.started = Started::yes;
  if (use_guest_ && !confined_) return break_off("the command was started before its confinement was reported");
  if (stage_ != Stage::spawning) return;
  stage_ = Stage::running;
  phases_.begin(Phase::run);
  if (decided_) return;  // being killed: it gets no input
  running_ = true;
  streams_->start_input();
}

void Run::on_exited(const ExecutionEvent& event) {
  if (stage_ == Stage::exited) return;
  start_known_ = true;
  result_.started = Started::yes;
  running_ = false;
  takes_signals_ = false;
  stage_ = Stage::exited;
  result_.usage = event.usage;
  if (WIFSIGNALED(event.wait_status)) {
    if (decide(Status::signaled)) result_.signal_number = WTERMSIG(event.wait_status);
  } else if (decide(Status::exited)) {
    result_.exit_code = WEXITSTATUS(event.wait_status);
  }
  phases_.begin(Phase::collect);
  streams_->stop_input();
  if (!stop_sent_) after(step_timer_, limits_.kill, &Run::on_kill_limit);
}

void Run::on_gone() {
  if (!decided_) {
    decide_failure(make_failure(FailureKind::environment_lost, Phase::run,
                                "the environment ended without saying how the command had ended"));
  }
  command_over();
}

void Run::on_failed(const ExecutionEvent& event) {
  start_known_ = true;
  // The client says `unknown` when the keeper died after the spawn message was sent.
  if (result_.started != Started::yes) result_.started = event.was_started;
  const bool busy = event.failure.kind == FailureKind::unavailable && event.failure.step == keeper::kBusyStep;
  const bool only_this = event.failure.step == keeper::kSupervisorStep;
  if (event.failure.kind != FailureKind::spawn_failed && !busy && !only_this) intact_ = false;
  decide_failure(event.failure);
  command_over();
}

void Run::break_off(std::string message) {
  Failure failure = make_failure(FailureKind::protocol_error, Phase::spawn, std::move(message));
  failure.hint = "reinstall ExecHost: its parts do not fit together";
  decide_failure(std::move(failure));
  kill_command();
}

void Run::kill_command() {
  if (std::exchange(stop_sent_, true)) return;
  running_ = false;
  takes_signals_ = false;
  streams_->stop_input();
  after(step_timer_, limits_.kill, &Run::on_kill_limit);
  keeper_->signal(execution_, SIGKILL);
}

void Run::on_kill_limit() {
  if (stage_ == Stage::over) return;
  intact_ = false;
  warn(
      fmt::format("environment_lost: nothing proved within {} ms that every process of the command had ended, so its "
                  "environment was destroyed",
                  limits_.kill.count()));
  close_environment();
  if (closed_) command_over();
}

// ---- after the command ------------------------------------------------------------

void Run::command_over() {
  stage_ = Stage::over;
  running_ = false;
  takes_signals_ = false;
  step_timer_.cancel();
  if (streams_) {
    streams_->stop_input();
    streams_->drain();
    draining_ = true;
    if (!closing_) phases_.begin(Phase::collect);
    after(step_timer_, limits_.drain, &Run::on_drain_limit);
    if (stop_sent_) after(delivery_timer_, limits_.drain, &Run::on_delivery_limit);
  }
  advance();
}

void Run::advance() {
  if (stage_ != Stage::over) return;
  if (streams_ && streams_->reading()) return;
  if (std::exchange(draining_, false)) step_timer_.cancel();
  close_environment();
  if (!closed_ || (streams_ && streams_->delivering())) return;
  finish();
}

void Run::on_drain_limit() {
  if (!draining_) return;
  if (streams_->held_back()) {
    // Not the command's doing: its reader has not taken what came before.
    return after(step_timer_, limits_.drain, &Run::on_drain_limit);
  }
  result_.pipes_held_open = streams_->stop_reading();
  advance();
}

void Run::on_delivery_limit() {
  if (streams_) streams_->abandon_delivery();
  advance();
}

void Run::finish() {
  if (stage_ == Stage::done) return;
  stage_ = Stage::done;
  running_ = false;
  takes_signals_ = false;
  for (auto* timer : {&deadline_timer_, &step_timer_, &close_timer_, &delivery_timer_}) timer->cancel();
  phases_.end();
  if (execution_ != 0 && !start_known_) result_.started = Started::unknown;
  result_.status = decided_.value_or(Status::failed);
  result_.phase_times = phases_.times();
  if (streams_) streams_->collect(result_);
  streams_.reset();
  // Only the command has them, not what starts it: what it said was heard before the word that it runs.
  if (result_.started == Started::unknown && use_guest_ && result_.out.total_bytes + result_.err.total_bytes != 0)
    result_.started = Started::yes;
  std::exchange(done_, nullptr)(std::move(result_));
}

// ---- small things -------------------------------------------------------------------

bool Run::decide(Status status) {
  if (decided_) return false;
  decided_ = status;
  return true;
}

void Run::decide_failure(Failure failure) {
  if (failure.backend.empty()) failure.backend = spec_.plan->backend;
  if (decide(Status::failed)) {
    result_.failure = std::move(failure);
  } else {
    warn(fmt::format("{}: {}", to_string(failure.kind), describe(failure)));
  }
}

void Run::after(boost::asio::steady_timer& timer, std::chrono::milliseconds span, void (Run::*then)()) {
  timer.expires_after(span);
  timer.async_wait([weak = weak_from_this(), then](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error && self->stage_ != Stage::done) ((*self).*then)();
  });
}

}  // namespace exechost::execution

#include "core/keeper/execution.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>

#include "core/base/clock.hpp"
#include "core/keeper/command_server.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/plugin_process.hpp"
#include "core/keeper/served_process.hpp"

namespace exechost::keeper {
namespace {

// When the host is gone everything has to be gone within a second.
constexpr auto kHardKillPatience = std::chrono::milliseconds(400);
constexpr std::size_t kMaxHeldSignals = 16;

}  // namespace

Execution::Execution(Surroundings surroundings, std::shared_ptr<Environment> environment, SpawnRequest request)
    : around_(std::move(surroundings)), environment_(std::move(environment)), request_(std::move(request)) {}

// ---- events ----------------------------------------------------------------------

// Nothing comes after the last event.
void Execution::emit(ExecutionEvent event) {
  if (finished_) return;
  finished_ = event.kind == ExecutionEvent::Kind::gone || event.kind == ExecutionEvent::Kind::failed;
  if (finished_) conclude_shell(event);
  around_.send(std::move(event));
  if (finished_) leave_turn();
}

void Execution::send(ExecutionEvent::Kind kind) {
  ExecutionEvent event;
  event.kind = kind;
  event.was_started = command_started();
  emit(std::move(event));
}

void Execution::send_exited(int wait_status, ResourceUsage usage) {
  ExecutionEvent event;
  event.kind = ExecutionEvent::Kind::exited;
  event.wait_status = wait_status;
  event.usage = usage;
  event.was_started = Started::yes;
  emit(std::move(event));
}

void Execution::send_failed(Failure failure, Started started) {
  ExecutionEvent event;
  event.kind = ExecutionEvent::Kind::failed;
  if (failure.backend.empty()) failure.backend = environment_->backend->id();
  event.failure = std::move(failure);
  event.was_started = started;
  emit(std::move(event));
}

// Whether the command can have had side effects. Between `confined` and `started` its exec may
// have happened without the guest having come to say so.
Started Execution::command_started() const {
  if (!guest_) return process_started_ ? Started::yes : Started::no;
  if (guest_->started()) return Started::yes;
  if (failure_ && failure_->kind == FailureKind::spawn_failed) return Started::no;
  return guest_->confined() || perhaps_started_ ? Started::unknown : Started::no;
}

// ---- start -----------------------------------------------------------------------

void Execution::start(std::vector<UniqueFd> stdio) {
  environment_->running.insert(this);
  if (request_.shell && environment_->server && environment_->server->passes_descriptors())
    return wait_for_turn(std::move(stdio));
  begin(std::move(stdio));
}

void Execution::begin(std::vector<UniqueFd> stdio) {
  if (turn_ != 0 && !open_shell(stdio)) return retire();
  UniqueFd guest_end;
  if (request_.use_guest) {
    if (environment_->init.empty()) {
      send_failed(make_failure(FailureKind::unsupported, Phase::spawn,
                               "the backend has no place for the guest (open gave no \"init\")", "guest"),
                  Started::no);
      return retire();
    }
    served_ = environment_->server != nullptr;
    auto channel = GuestChannel::make(request_, guest_end, served_, shell_ ? &shell_->program() : nullptr);
    if (!channel) {
      send_failed(channel.error(), Started::no);
      return retire();
    }
    guest_ = std::move(*channel);
    if (served_) return start_served(std::move(guest_end), std::move(stdio));
  }
  const auto self = shared_from_this();
  auto begun = around_.operations.begin(
      request_.deadline_ns, fmt::format("backend \"{}\", starting a command,", environment_->backend->id()),
      [self](const Operations::Ending& ending) { self->send_failed(ending.result.failure, Started::unknown); });
  if (!begun) {
    send_failed(begun.error(), Started::no);
    return retire();
  }
  spawning_ = *begun;

  auto inputs = std::make_shared<SpawnInputs>();
  inputs->stdio = std::move(stdio);
  inputs->guest_end = std::move(guest_end);
  inputs->tty = request_.tty;
  // With the guest the command itself, its environment and its folder are in the specification.
  inputs->working_directory = guest_ ? "/" : request_.cwd;
  inputs->arguments = guest_ ? std::vector<std::string>{environment_->init, "exec"} : request_.argv;
  if (!guest_) inputs->variables = request_.variables;

  auto outcome = std::make_shared<SpawnOutcome>();
  auto task = [inputs, outcome, environment = environment_](const plugin::CallLimits& limits) {
    *outcome = spawn_in(*environment, *inputs, limits);
    return outcome->result;
  };
  around_.operations.run(spawning_, std::move(task), [self, outcome](Operations::Ending ending) {
    outcome->result = std::move(ending.result);
    self->spawned(*outcome, ending.stopped);
  });
}

void Execution::start_served(UniqueFd guest_end, std::vector<UniqueFd> stdio) {
  auto process = environment_->server->run(std::move(guest_end), std::move(stdio));
  if (!process) {
    send_failed(process.error(), Started::no);
    return retire();
  }
  if (shell_) shell_->start();
  hold(std::move(*process));
}

void Execution::hold(std::shared_ptr<StartedProcess> process) {
  process_ = std::move(process);
  watch_process();
  if (guest_) watch_guest();
  read_process();  // what it already knows, without waiting for its descriptor
}

void Execution::spawned(const SpawnOutcome& outcome, bool stopped) {
  spawning_ = 0;
  switch (outcome.result.status) {
    case ReplyStatus::ok: break;
    case ReplyStatus::failed:
      // A broken protocol says nothing about what was begun.
      send_failed(outcome.result.failure,
                  outcome.result.failure.kind == FailureKind::protocol_error ? Started::unknown : Started::no);
      return retire();
    case ReplyStatus::timed_out:
    case ReplyStatus::cancelled:
      send_failed(make_failure(FailureKind::spawn_failed, Phase::spawn,
                               outcome.result.status == ReplyStatus::timed_out
                                   ? "the deadline passed before the command had started"
                                   : "the command was stopped before it had started",
                               "stopped"),
                  Started::no);
      return retire();
  }
  hold(std::make_shared<PluginProcess>(outcome.table, outcome.event_fd, environment_->backend->id()));
  if (finished_) return kill_hard();  // it came too late: its failure was told already
  // Stopped while spawning: by a kill, or by the deadline, which for a command means the same.
  if (kill_stage_ != KillStage::none || stopped) {
    kill_stage_ = KillStage::none;
    kill();
  }
}

// ---- signals ---------------------------------------------------------------------

void Execution::signal(int number) {
  if (number < 1 || number >= NSIG || finished_) return;
  if (number == SIGKILL) return kill();
  const bool started = guest_ ? guest_->started() : process_started_;
  if (!started) {
    if (held_signals_.size() < kMaxHeldSignals) held_signals_.push_back(number);
    return;
  }
  if (guest_) {
    guest_->send_signal(number);
  } else if (process_) {
    process_->signal(number);
  }
}

void Execution::kill() {
  kill_requested_ = true;
  if (retired_ || kill_stage_ != KillStage::none) return;
  if (waiting_) return give_up_turn();
  kill_stage_ = KillStage::guest;
  if (spawning_ != 0) return around_.operations.cancel(spawning_);
  if (guest_ && guest_open_ && guest_->send_kill()) return arm(KillStage::process);
  ask_process_to_end();
}

void Execution::kill_hard() {
  patience_ = kHardKillPatience;
  if (kill_stage_ == KillStage::guest && spawning_ == 0) return arm(KillStage::process);
  kill();
}

void Execution::ask_process_to_end() {
  if (retired_ || process_done_ || !process_) return;
  if (kill_stage_ == KillStage::process || kill_stage_ == KillStage::environment) return;
  kill_stage_ = KillStage::process;
  process_->signal(SIGKILL);
  arm(KillStage::environment);
}

void Execution::destroy_environment() {
  if (retired_ || kill_stage_ == KillStage::environment) return;
  kill_stage_ = KillStage::environment;
  unwatch();
  const auto self = shared_from_this();
  retire();
  around_.destroy_environment([self](const CallResult& result) {
    std::string message = "the command could not be killed, so its environment was destroyed";
    if (result.status != ReplyStatus::ok) {
      message = fmt::format("the command could not be killed, and its environment could not be destroyed: {}",
                            result.failure.message.empty() ? "no answer in time" : result.failure.message);
    }
    self->send_failed(make_failure(FailureKind::environment_lost, Phase::run, std::move(message), "kill"),
                      self->command_started());
  });
}

void Execution::arm(KillStage next) {
  disarm();
  kill_timer_ = around_.loop->at(deadline_after(patience_), [self = shared_from_this(), next] {
    self->kill_timer_ = 0;
    if (next == KillStage::environment) {
      self->destroy_environment();
    } else {
      self->ask_process_to_end();
    }
  });
}

void Execution::disarm() {
  around_.loop->cancel(kill_timer_);
  kill_timer_ = 0;
}

// ---- end -------------------------------------------------------------------------

void Execution::unwatch() {
  if (guest_ && guest_open_) around_.loop->unwatch(guest_->fd());
  guest_open_ = false;
  if (process_) around_.loop->unwatch(process_->event_fd());
}

void Execution::retire() {
  if (retired_) return;
  retired_ = true;
  disarm();
  unwatch();
  const auto self = shared_from_this();
  const auto forget = [self] {
    const auto environment = self->environment_;
    self->around_.retired();
    environment->running.erase(self.get());
    if (!environment->running.empty()) return;
    if (environment->when_idle) {
      std::exchange(environment->when_idle, nullptr)();
    } else if (environment->on_idle) {
      environment->on_idle();
    }
  };
  if (!process_ || (served_ && process_done_)) return forget();
  // release may have to kill and wait.
  auto release = [process = process_, environment = environment_, loop = around_.loop, forget] {
    process->release();
    loop->post(forget);
  };
  try {
    around_.pool.submit(release);
  } catch (const std::exception&) {
    release();
  }
}

}  // namespace exechost::keeper

// Shells of one environment: one after the other, each with the state of the one before.
#include <memory>
#include <utility>

#include "core/keeper/execution.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {

void Execution::wait_for_turn(std::vector<UniqueFd> stdio) {
  if (!environment_->shells) environment_->shells = std::make_shared<shell::Line>();
  shell::Turns& turns = environment_->shells->turns;
  if (request_.shell->refuse_when_busy && turns.taken()) {
    send_failed(
        make_failure(FailureKind::unavailable, Phase::spawn, "another shell script runs in the session's environment",
                     kBusyStep, 0, "wait for its end, or let them queue: session.busy"),
        Started::no);
    return retire();
  }
  waiting_ = true;
  const auto held = std::make_shared<std::vector<UniqueFd>>(std::move(stdio));
  turns.enter(turn_, [self = shared_from_this(), held] {
    self->waiting_ = false;
    self->begin(std::move(*held));
  });
}

// Appends the shell's own descriptors; false: it has failed.
bool Execution::open_shell(std::vector<UniqueFd>& descriptors) {
  auto made = shell::Run::make(around_.loop, environment_->shells, request_);
  if (!made) {
    send_failed(made.error(), Started::no);
    return false;
  }
  shell_ = std::move(*made);
  for (UniqueFd& descriptor : shell_->take_descriptors()) descriptors.push_back(std::move(descriptor));
  return true;
}

void Execution::give_up_turn() {
  waiting_ = false;
  send_failed(environment_->closing
                  ? make_failure(FailureKind::environment_lost, Phase::spawn,
                                 "the environment was closed before it was the command's turn", "turn")
                  : make_failure(FailureKind::spawn_failed, Phase::spawn,
                                 "the command was stopped before it had started", "stopped"),
              Started::no);
  retire();
}

void Execution::conclude_shell(ExecutionEvent& event) {
  if (!shell_) return;
  if (event.kind == ExecutionEvent::Kind::gone) shell_->conclude(event.was_started == Started::yes, event.warnings);
  shell_.reset();
}

void Execution::leave_turn() {
  if (turn_ != 0) environment_->shells->turns.leave(std::exchange(turn_, 0));
}

}  // namespace exechost::keeper

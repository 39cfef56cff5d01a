#include <fmt/format.h>

#include <csignal>
#include <stdexcept>
#include <utility>

#include "core/host/execution_state.hpp"

namespace exechost {
namespace {

Failure refused(FailureKind kind, std::string step, std::string message) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::run;
  failure.step = std::move(step);
  failure.message = std::move(message);
  return failure;
}

}  // namespace

// ---- handle ----------------------------------------------------------------------

Execution::Execution(std::shared_ptr<State> state) : state_(std::move(state)) {}
Execution::Execution(Execution&&) noexcept = default;

Execution& Execution::operator=(Execution&& other) noexcept {
  if (this != &other) {
    if (state_) state_->cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

Execution::~Execution() {
  if (state_) state_->cancel();
}

const ExecResult& Execution::wait() {
  std::unique_lock lock(state_->mutex);
  if (!state_->finished && state_->reactor.on_reactor_thread()) {
    throw std::logic_error("exechost: Execution::wait was called from an output callback, which must not block");
  }
  state_->ended.wait(lock, [this] { return state_->finished; });
  return state_->result;
}

bool Execution::finished() const {
  const std::lock_guard lock(state_->mutex);
  return state_->finished;
}

bool Execution::running() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->finished && state_->run && state_->run->running();
}

void Execution::cancel() { state_->cancel(); }

Result<void> Execution::signal(int number) {
  if (number < 1 || number > SIGRTMAX) {
    return unexpected(refused(FailureKind::invalid_request, "signal",
                              fmt::format("signal {} is not a signal (1 to {})", number, SIGRTMAX)));
  }
  const auto takes_signals = [this] {
    const std::lock_guard lock(state_->mutex);
    return !state_->finished && state_->run && state_->run->takes_signals();
  };
  if (!takes_signals()) {
    return unexpected(refused(FailureKind::invalid_request, "signal",
                              finished() ? "the command has ended" : "the command is not running"));
  }
  state_->with_run([number](execution::Run& target) { target.signal(number); });
  return {};
}

Result<std::size_t> Execution::write_stdin(std::string_view bytes) {
  if (!state_->input) {
    return unexpected(
        refused(FailureKind::invalid_request, "stdin", "standard input of this execution is not a stream"));
  }
  return state_->input->write(bytes);
}

void Execution::close_stdin() {
  if (state_->input) state_->input->close();
}

Result<void> Execution::resize(std::uint16_t rows, std::uint16_t columns) {
  if (!state_->tty) {
    return unexpected(refused(FailureKind::invalid_request, "resize", "this execution has no terminal"));
  }
  state_->with_run([rows, columns](execution::Run& target) { static_cast<void>(target.resize(rows, columns)); });
  return {};
}

}  // namespace exechost

#include "cli/running_command.hpp"

#include <unistd.h>

#include <csignal>

#include "cli/exit_status.hpp"

namespace exechost::cli {

void RunningCommand::attach(Execution& execution) {
  const std::lock_guard lock(mutex_);
  execution_ = &execution;
  if (cancel_asked_) execution_->cancel();
}

bool RunningCommand::forward(int number) {
  const std::lock_guard lock(mutex_);
  return execution_ != nullptr && execution_->signal(number).has_value();
}

void RunningCommand::cancel(int first_signal) {
  const std::lock_guard lock(mutex_);
  if (execution_ != nullptr) {
    execution_->cancel();
  } else if (!cancel_asked_) {
    cancel_asked_ = true;  // still planning: nothing was made, attach() does it
  } else {
    // Planning hangs (a plugin's probe) and the caller insists. Nothing was opened yet, and what
    // the keeper may have started ends with this process.
    if (terminal_ != nullptr) terminal_->restore();
    ::_exit(kExitSignalBase + first_signal);
  }
}

void RunningCommand::window_changed() {
  const auto size = terminal_size();
  const std::lock_guard lock(mutex_);
  // Fails only when the command has just ended: then nobody looks at its size.
  if (size && execution_ != nullptr) (void)execution_->resize(size->rows, size->columns);
}

void RunningCommand::suspend() {
  if (terminal_ != nullptr) terminal_->restore();
  ::kill(::getpid(), SIGSTOP);
  // Continued: perhaps by another job's terminal settings, perhaps at another size.
  if (terminal_ != nullptr) terminal_->enter();
  window_changed();
}

}  // namespace exechost::cli

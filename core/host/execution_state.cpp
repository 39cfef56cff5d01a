#include "core/host/execution_state.hpp"

#include <utility>

namespace exechost::host {

void ExecutionState::with_run(std::function<void(execution::Run&)> work) {
  const std::lock_guard lock(mutex);
  if (finished || !run) return;
  reactor.post([target = run, work = std::move(work)] { work(*target); });
}

void ExecutionState::cancel() {
  {
    const std::lock_guard lock(mutex);
    cancel_requested = true;
  }
  cancelled.request_stop();
  with_run([](execution::Run& target) { target.cancel(); });
}

void ExecutionState::finish(ExecResult value) {
  std::shared_ptr<execution::Run> over;  // destroyed here, on the reactor thread
  const std::lock_guard lock(mutex);
  result = std::move(value);
  finished = true;
  over = std::move(run);
  ended.notify_all();
}

}  // namespace exechost::host

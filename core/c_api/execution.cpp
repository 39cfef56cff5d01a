#include "core/c_api/handles.hpp"

namespace c = exechost::c_api;

namespace exechost::c_api {
namespace {

int done_or_failure(const Result<void>& done, exechost_failure** failure) {
  if (done) return 0;
  report(failure, done.error());
  return -1;
}

}  // namespace
}  // namespace exechost::c_api

exechost_result* exechost_execution_wait(exechost_execution* execution) {
  return c::guarded<exechost_result*>(nullptr, [&] { return c::make_result(execution->execution.wait()); });
}

int exechost_execution_finished(const exechost_execution* execution) { return execution->execution.finished() ? 1 : 0; }

void exechost_execution_cancel(exechost_execution* execution) {
  c::guarded(0, [&] {
    execution->execution.cancel();
    return 0;
  });
}

int exechost_execution_signal(exechost_execution* execution, int number, exechost_failure** failure) {
  return c::guarded(-1, [&] { return c::done_or_failure(execution->execution.signal(number), failure); });
}

intptr_t exechost_execution_write_stdin(exechost_execution* execution, const char* data, size_t size,
                                        exechost_failure** failure) {
  return c::guarded<intptr_t>(-1, [&]() -> intptr_t {
    const auto taken = execution->execution.write_stdin(std::string_view(data, size));
    if (taken) return static_cast<intptr_t>(*taken);
    c::report(failure, taken.error());
    return -1;
  });
}

void exechost_execution_close_stdin(exechost_execution* execution) {
  c::guarded(0, [&] {
    execution->execution.close_stdin();
    return 0;
  });
}

int exechost_execution_resize(exechost_execution* execution, uint16_t rows, uint16_t columns,
                              exechost_failure** failure) {
  return c::guarded(-1, [&] { return c::done_or_failure(execution->execution.resize(rows, columns), failure); });
}

void exechost_execution_destroy(exechost_execution* execution) { delete execution; }

#include "cli/exit_status.hpp"

#include <cerrno>

namespace exechost::cli {
namespace {

int failure_status(const Failure& failure) {
  if (failure.kind == FailureKind::denied) return kExitNotExecutable;
  // A missing working folder is ENOENT too, but says nothing about the program.
  const bool exec_refused =
      failure.kind == FailureKind::spawn_failed && failure.step == "exec" && failure.error_number != 0;
  if (!exec_refused) return kExitFailure;
  return failure.error_number == ENOENT ? kExitNotFound : kExitNotExecutable;
}

}  // namespace

int exit_status(const ExecResult& result, int interrupt_signal) {
  switch (result.status) {
    case Status::exited: return result.exit_code;
    case Status::signaled: return kExitSignalBase + result.signal_number;
    case Status::timed_out: return kExitTimedOut;
    case Status::cancelled: return interrupt_signal > 0 ? kExitSignalBase + interrupt_signal : kExitFailure;
    case Status::resource_exhausted:
      return result.signal_number > 0 ? kExitSignalBase + result.signal_number : kExitFailure;
    case Status::failed: break;
  }
  return result.failure ? failure_status(*result.failure) : kExitFailure;
}

}  // namespace exechost::cli

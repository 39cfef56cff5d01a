#include "core/gateway/patience.hpp"

#include <cerrno>

namespace exechost::gateway {
namespace {

Failure interrupted(int error, std::string message) {
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::run;
  failure.message = std::move(message);
  failure.error_number = error;
  failure.step = "wait";
  return failure;
}

}  // namespace

Result<void> still_wanted(const Patience& patience) {
  if (patience.stop.stop_requested()) return unexpected(interrupted(ECANCELED, "the operation was cancelled"));
  // max() is never reached; asking the clock can be saved.
  if (patience.deadline != std::chrono::steady_clock::time_point::max() &&
      std::chrono::steady_clock::now() >= patience.deadline) {
    return unexpected(interrupted(ETIMEDOUT, "the operation's deadline has passed"));
  }
  return {};
}

}  // namespace exechost::gateway

#include "core/keeper/plugin_call.hpp"

#include <fmt/format.h>

#include <exception>

#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

Failure broken(const std::string& backend, Phase phase, std::string message) {
  Failure failure = make_failure(FailureKind::protocol_error, phase, std::move(message), "call");
  failure.backend = backend;
  return failure;
}

}  // namespace

CallResult call_plugin(const std::string& backend, Phase phase, const plugin::CallLimits& limits,
                       const std::function<eh_status(const eh_call*)>& function) {
  try {
    plugin::Call call(backend, phase, limits);
    plugin::CallOutcome outcome = call.finish(function(call.call()));
    switch (outcome.status) {
      case EH_OK: return {ReplyStatus::ok, {}, std::move(outcome.answer)};
      case EH_TIMED_OUT: return {ReplyStatus::timed_out, {}, {}};
      case EH_CANCELLED: return {ReplyStatus::cancelled, {}, {}};
      case EH_FAILED: return CallResult::failed(std::move(outcome.failure));
      default:
        return CallResult::failed(
            broken(backend, phase, fmt::format("backend \"{}\" answered with status {}", backend, outcome.status)));
    }
  } catch (const std::exception& error) {
    return CallResult::failed(
        broken(backend, phase, fmt::format("backend \"{}\" let an exception out: {}", backend, error.what())));
  } catch (...) {
    return CallResult::failed(broken(backend, phase, fmt::format("backend \"{}\" let an exception out", backend)));
  }
}

bool is_whole(const eh_backend* table) {
  return table != nullptr && EH_HAS(table, eh_backend, get_extension) && table->destroy != nullptr &&
         table->probe != nullptr && table->open != nullptr && table->reap != nullptr && table->list != nullptr;
}

bool is_whole(const eh_environment* table) {
  return table != nullptr && EH_HAS(table, eh_environment, get_extension) && table->spawn != nullptr &&
         table->close != nullptr;
}

bool is_whole(const eh_execution* table) {
  return table != nullptr && EH_HAS(table, eh_execution, release) && table->event_fd != nullptr &&
         table->wait != nullptr && table->signal != nullptr && table->release != nullptr;
}

}  // namespace exechost::keeper

// One call into a plugin, with everything a plugin may do wrong turned into a value.
#pragma once

#include <functional>
#include <string>

#include "core/keeper/messages.hpp"
#include "core/plugin/loader.hpp"

namespace exechost::keeper {

struct CallResult {
  ReplyStatus status = ReplyStatus::failed;
  Failure failure;
  std::string answer;

  static CallResult failed(Failure failure) { return {ReplyStatus::failed, std::move(failure), {}}; }
};

// Runs `function` with a fresh call context. Whatever it throws becomes protocol_error.
CallResult call_plugin(const std::string& backend, Phase phase, const plugin::CallLimits& limits,
                       const std::function<eh_status(const eh_call*)>& function);

// Whether the tables a plugin gave are whole: size and every function that is not optional.
bool is_whole(const eh_backend* table);
bool is_whole(const eh_environment* table);
bool is_whole(const eh_execution* table);

}  // namespace exechost::keeper

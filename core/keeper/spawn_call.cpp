#include "core/keeper/spawn_call.hpp"

#include <fmt/format.h>

#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

std::vector<eh_str> views_of(const std::vector<std::string>& texts) {
  std::vector<eh_str> views;
  views.reserve(texts.size());
  for (const auto& text : texts) views.push_back(plugin::to_eh(text));
  return views;
}

}  // namespace

SpawnOutcome spawn_in(Environment& environment, SpawnInputs& inputs, const plugin::CallLimits& limits) {
  const std::string& backend = environment.backend->id();
  const auto arguments = views_of(inputs.arguments);
  const auto variables = views_of(inputs.variables);
  eh_spawn spec{};
  spec.struct_size = sizeof spec;
  spec.arguments = arguments.data();
  spec.argument_count = static_cast<std::uint32_t>(arguments.size());
  spec.environment = variables.data();
  spec.environment_count = static_cast<std::uint32_t>(variables.size());
  spec.tty = inputs.tty ? 1 : 0;
  spec.working_directory = plugin::to_eh(inputs.working_directory);
  spec.stdin_fd = inputs.stdio.at(0).get();
  spec.stdout_fd = inputs.stdio.at(1).get();
  spec.stderr_fd = inputs.stdio.at(2).get();
  spec.control_fd = inputs.guest_end.get();

  SpawnOutcome outcome;
  outcome.result = call_plugin(backend, Phase::spawn, limits, [&](const eh_call* call) {
    return environment.table->spawn(environment.table->self, &spec, call, &outcome.table);
  });
  inputs.stdio.clear();
  inputs.guest_end.reset();
  if (outcome.result.status != ReplyStatus::ok) return outcome;

  const bool whole = is_whole(outcome.table);
  if (whole) outcome.event_fd = outcome.table->event_fd(outcome.table->self);
  if (outcome.event_fd < 0) {
    if (whole) outcome.table->release(outcome.table->self);
    outcome.table = nullptr;
    outcome.result = CallResult::failed(make_failure(
        FailureKind::protocol_error, Phase::spawn,
        fmt::format("backend \"{}\" gave an execution without functions or event descriptor", backend), "spawn"));
  }
  return outcome;
}

}  // namespace exechost::keeper

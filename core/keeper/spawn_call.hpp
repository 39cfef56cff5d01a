// The call that starts a process in an environment, with its inputs owned while it lasts.
#pragma once

#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/keeper/environment.hpp"
#include "core/keeper/plugin_call.hpp"

namespace exechost::keeper {

struct SpawnInputs {
  std::vector<UniqueFd> stdio;  // three
  UniqueFd guest_end;           // of the control socket; none: the command runs without a guest
  std::vector<std::string> arguments;
  std::vector<std::string> variables;
  std::string working_directory;
  bool tty = false;
};

struct SpawnOutcome {
  CallResult result;
  const eh_execution* table = nullptr;  // whole when the result is ok
  int event_fd = -1;                    // the plugin's
};

// Blocks. Closes the descriptors in `inputs`, whatever comes of it, so that whoever waits for a
// stream's end waits for the command alone. [worker]
SpawnOutcome spawn_in(Environment& environment, SpawnInputs& inputs, const plugin::CallLimits& limits);

}  // namespace exechost::keeper

// Puts the guest that is to serve an environment's commands into it.
#pragma once

#include "core/keeper/command_server.hpp"
#include "core/keeper/environment.hpp"
#include "core/keeper/plugin_call.hpp"
#include "core/plan/plan.hpp"

namespace exechost::keeper {

// Returns when the guest is confined and ready, and then `guest` is set. After another answer nothing of it is
// left. Blocks. [worker]
CallResult start_serving(Environment& environment, const plan::Confinement& confinement,
                         const plugin::CallLimits& limits, ServingGuest& guest);

}  // namespace exechost::keeper

// Puts the guest that is to serve an environment's commands into it, where descriptors can't be passed.
#pragma once

#include "core/keeper/command_server.hpp"
#include "core/keeper/environment.hpp"
#include "core/keeper/plugin_call.hpp"
#include "core/plan/plan.hpp"

namespace exechost::keeper {

// As start_serving. `lease_ms`: who hears nothing for so long takes the other for gone. [worker]
CallResult start_stream(Environment& environment, const plan::Confinement& confinement, std::uint32_t lease_ms,
                        const plugin::CallLimits& limits, ServingGuest& guest);

}  // namespace exechost::keeper

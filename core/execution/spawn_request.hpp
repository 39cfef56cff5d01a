// What the keeper is asked for to start a plan's command.
#pragma once

#include "core/environment/environment_source.hpp"
#include "core/keeper/messages.hpp"
#include "core/plan/plan.hpp"

namespace exechost::execution {

// But for its streams and its deadline.
keeper::SpawnRequest spawn_request(const plan::Plan& plan, const environment::Lease& lease);

}  // namespace exechost::execution

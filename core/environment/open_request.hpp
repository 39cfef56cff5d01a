// What the keeper is asked for to open an environment, and what its answer means.
#pragma once

#include "core/environment/environment_source.hpp"
#include "core/keeper/messages.hpp"

namespace exechost::environment {

// `serve`: for many commands, with a guest that serves them where the plan has one.
keeper::OpenRequest open_request(const EnvironmentRequest& request, bool serve);
Acquired acquired_from(keeper::Reply reply, const std::string& backend);

}  // namespace exechost::environment

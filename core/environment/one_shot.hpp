// One environment per execution: opened for it, closed after it.
#pragma once

#include <memory>

#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"

namespace exechost::environment {

std::shared_ptr<EnvironmentSource> make_one_shot(std::shared_ptr<KeeperPort> keeper);

}  // namespace exechost::environment

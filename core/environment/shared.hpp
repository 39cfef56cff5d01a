// Environments that successive executions share: those of one session, as long as they ask for the same place.
//
// What a place is: everything of a plan that an environment is made from (backend and its settings, image, limits,
// view, network, confinement). An execution whose plan has another one gets another environment.
#pragma once

#include <memory>

#include "core/base/reactor.hpp"
#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"

namespace exechost::environment {

// An environment that nobody uses is closed after the plan's idle_timeout, or when there are more than a few such;
// at max_lifetime it is not given out again. Those that are left end with the keeper. Made, used and destroyed on
// the reactor's thread.
std::shared_ptr<EnvironmentSource> make_shared_environments(Reactor& reactor,
                                                            const std::shared_ptr<KeeperPort>& keeper);

}  // namespace exechost::environment

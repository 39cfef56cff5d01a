// Environments of named sessions, which the user's detached keeper holds: whoever names one gets it, in this program
// or in another.
#pragma once

#include <memory>
#include <string>

#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"

namespace exechost::environment {

// `keeper`: the detached one. `owner`: sessions of different owner tags are different ones. `recreate`: one that was
// opened for another place is closed and opened anew.
std::shared_ptr<EnvironmentSource> make_named(std::shared_ptr<KeeperPort> keeper, std::string owner, bool recreate);

}  // namespace exechost::environment

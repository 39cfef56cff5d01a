// How a host finds the detached keeper of its user, or starts one.
#pragma once

#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/unique_fd.hpp"
#include "core/keeper/detached.hpp"
#include "core/keeper/keeper.hpp"
#include "exechost/failure.hpp"

namespace exechost::keeper {

// The address of a socket in a folder, whose own path may be longer than an address can be (unix(7): 108 bytes).
// Nothing: the name is too long. Good while the descriptor is open.
std::optional<sockaddr_un> address_in(int folder, const std::string& name);

// The socket of the keeper at that place, for a Client. Where none listens one is started; it goes on when this
// process ends. `unavailable`: it can't be started, is of another user or of another version. Waits; some seconds at
// most.
Result<UniqueFd> connect_detached(const DetachedPlace& place, const std::string& program, const KeeperOptions& options);

// The same without starting one. Empty: none listens.
Result<UniqueFd> find_detached(const DetachedPlace& place);

}  // namespace exechost::keeper

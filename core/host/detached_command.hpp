// A keeper's answers about a command in the background (keeper/background.hpp), checked.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "exechost/session.hpp"

namespace exechost::host {

// protocol_error when something is missing or of a wrong type.
Result<DetachedCommand> detached_command_from(const nlohmann::json& answer);
// `offset` becomes where the part begins.
Result<std::string> log_part_from(const nlohmann::json& answer, std::uint64_t& offset);
Result<std::size_t> taken_from(const nlohmann::json& answer);

}  // namespace exechost::host

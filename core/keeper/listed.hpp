// What a backend answers to `list`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "exechost/failure.hpp"

namespace exechost::keeper {

// [{"name", "labels"}], checked; other members are left out. Anything else is a protocol_error.
Result<nlohmann::json> parse_listed(const std::string& answer);

}  // namespace exechost::keeper

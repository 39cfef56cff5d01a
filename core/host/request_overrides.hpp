// A request's own settings: its fields and its settings_json as one document.
#pragma once

#include <nlohmann/json.hpp>

#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::host {

// invalid_request: settings_json is not a JSON object, or it contradicts a field of the request.
Result<nlohmann::json> request_overrides(const Request& request);

}  // namespace exechost::host

// The options of exechost_host_create: a JSON object.
#pragma once

#include <string_view>

#include "exechost/host.hpp"

namespace exechost::c_api {

// invalid_request: not a JSON object, an unknown name, or a wrong value. Empty text: all defaults.
Result<HostOptions> parse_host_options(std::string_view text);

}  // namespace exechost::c_api

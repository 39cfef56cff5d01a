// Reads a script and refuses what it does not know.
#pragma once

#include <string>
#include <string_view>

#include "exechost/backend.hpp"
#include "script.hpp"

namespace scripted {

// From the backend's settings: "script", or the file that "script_file" names. `invalid_request` says
// where in the script what is wrong.
exechost::sdk::Outcome<Script> script_from_settings(std::string_view settings);

// `name` is the script's for messages.
exechost::sdk::Outcome<Script> read_script(const nlohmann::json& document, const std::string& name);

}  // namespace scripted

// Checks of the tables that a plugin hands out, before any of their functions is called. A member
// is read only if it lies inside the size that the table states.
#pragma once

#include <string>

#include "core/plugin/manifest.hpp"
#include "exechost/failure.hpp"
#include "exechost/plugin.h"

namespace exechost::plugin {

// `unavailable` naming `path` and what is wrong: null, magic, major, size, id, version, function.
Result<void> check_plugin_table(const eh_plugin* table, const Manifest& manifest, const std::string& path);

// protocol_error naming `backend` and what is wrong: null, size, missing function. For what
// create, open and spawn gave with EH_OK.
Result<void> check_backend_table(const eh_backend* table, const std::string& backend);
Result<void> check_environment_table(const eh_environment* table, const std::string& backend);
Result<void> check_execution_table(const eh_execution* table, const std::string& backend);

}  // namespace exechost::plugin

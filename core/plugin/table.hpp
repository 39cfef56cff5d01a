// Checks of the table that a plugin's entry function gives, before any of its functions is called.
// A member is read only if it lies inside the size that the table states.
#pragma once

#include <string>

#include "core/plugin/manifest.hpp"
#include "exechost/failure.hpp"
#include "exechost/plugin.h"

namespace exechost::plugin {

// `unavailable` naming `path` and what is wrong: null, magic, major, size, id, version, function.
Result<void> check_plugin_table(const eh_plugin* table, const Manifest& manifest, const std::string& path);

}  // namespace exechost::plugin

// One settings file as text, read only when it is one that may be obeyed. Internal to this module.
#pragma once

#include <optional>
#include <string>

#include "exechost/failure.hpp"

namespace exechost::settings {

// Nothing when there is no such file. invalid_request as read_files() says.
Result<std::optional<std::string>> read_settings_text(const std::string& path);

}  // namespace exechost::settings

// File names in messages, as GNU's programs write them in the C locale.
#pragma once

#include <string>
#include <string_view>

namespace exechost::gateway {

// As it is where a shell would take it for one word; else quoted for a shell.
std::string quote_if_needed(std::string_view name);
// Always quoted for a shell.
std::string quote_for_shell(std::string_view name);
// Between apostrophes, with escapes as in C.
std::string quote_for_reading(std::string_view name);

}  // namespace exechost::gateway

// Loads a library in a process of its own first, so that code which runs while it is loaded can
// end or hang nothing but that process.
#pragma once

#include <chrono>
#include <string>

#include "exechost/failure.hpp"

namespace exechost::plugin {

// libexec/exechost/exechost-plugin-check of the tree that this code is in (beside the program, or
// below one of the folders above it); empty when there is none that may be trusted.
std::string find_check_program();

// Loads `library` (or, when `fd` >= 0, the sealed copy in it) in `check_program` and calls its entry
// function. `unavailable`: that process ended otherwise than it should (how), or not within `limit`.
Result<void> try_loading(const std::string& check_program, const std::string& library, int fd,
                         std::chrono::milliseconds limit);

}  // namespace exechost::plugin

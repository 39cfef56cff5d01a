// A copy of a file that nobody can change any more.
#pragma once

#include <string>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::plugin {

// A memfd with everything `fd` holds, sealed against writing and resizing.
Result<UniqueFd> sealed_copy(int fd, const std::string& path);

}  // namespace exechost::plugin

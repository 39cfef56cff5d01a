// Which file a piece of loaded code comes from.
#pragma once

#include "exechost/failure.hpp"

namespace exechost::plugin {

// True when the code at `address` is mapped from the file that `fd` is open on, false when it is
// another one; `unavailable` when /proc/self/maps can't tell.
Result<bool> is_mapped_from(const void* address, int fd, const std::string& path);

}  // namespace exechost::plugin

// SHA-256 of files.
#pragma once

#include <string>

#include "exechost/failure.hpp"

namespace exechost::plugin {

// Of everything that `fd` holds, whatever its offset; lower-case hex. `unavailable` when it can't
// be read or is larger than kMaxLibraryBytes.
inline constexpr unsigned long long kMaxLibraryBytes = 512ULL * 1024 * 1024;
Result<std::string> sha256_of(int fd, const std::string& path);

}  // namespace exechost::plugin

// SHA-256 of what a descriptor holds.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::workspace {

// From its present offset to its end; each piece is passed to `also` when there is one.
Result<std::string> digest_of(int fd, const std::string& shown,
                              const std::function<Result<void>(std::string_view)>& also = nullptr);

}  // namespace exechost::workspace

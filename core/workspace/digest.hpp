// SHA-256 of what a descriptor holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::workspace {

// From its present offset to its end; each piece is passed to `also` when there is one. What it held when it was
// looked at is all that is read: ESTALE when it has more than `size` by now, since somebody may append for ever.
Result<std::string> digest_of(int fd, std::uint64_t size, const std::string& shown,
                              const std::function<Result<void>(std::string_view)>& also = nullptr);

}  // namespace exechost::workspace

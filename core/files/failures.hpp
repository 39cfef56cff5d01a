// The failures of copying files, in one form. `path` is shown as it is, escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::files {

// What a system call answered.
Failure from_errno(std::string_view path, std::string_view step, int error, std::string hint = {});
// The request can't be met as it is; `rule` completes the sentence that begins with the quoted path.
Failure unfit(std::string_view path, std::string_view rule, int error, std::string hint = {});
// Not followed, not written: it could lead somewhere else than it looks.
Failure refused(std::string_view path, std::string_view rule, std::string hint = {});
// What came out of an environment is not what its guest would have written.
Failure broken_stream(std::string_view path, std::string_view rule);
// The same, when it ends before it is complete: whoever wrote it has a reason.
Failure cut_off(std::string_view path);
bool is_cut_off(const Failure& failure);
Failure over_limit(std::string_view path, std::string_view setting, std::uint64_t limit);

// "" as ".".
std::string shown(std::string_view path);

}  // namespace exechost::files

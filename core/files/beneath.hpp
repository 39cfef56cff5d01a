// The one way in which names below a folder are looked up: openat2, beneath the folder, over no link.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::files {

// `path` is relative; "" is the folder itself. The errno in the failure; ELOOP for a link anywhere.
Result<UniqueFd> open_beneath(int folder, const std::string& path, int flags, mode_t mode = 0);

// "a/b" -> "a"; "a" -> "".
std::string parent_path(const std::string& path);
// "a/b" -> "b".
std::string last_name(const std::string& path);
std::string join(const std::string& folder, const std::string& name);
// 0 for "", 1 for "a", 2 for "a/b".
std::size_t depth_of(const std::string& path);

// ".exechost-" and 24 random digits: nobody else chooses it.
std::string temporary_name();

}  // namespace exechost::files

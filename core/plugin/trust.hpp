// Whether a file may be loaded or obeyed: the file and every folder above it, walked by
// descriptor from /, belong to root or the effective user and are not writable by others.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::plugin {

struct TrustedFile {
  UniqueFd fd;  // O_RDONLY on exactly the file that was checked
  dev_t device = 0;
  ino_t inode = 0;
};

// `unavailable` naming the file or folder and the rule it breaks. Links along the way are
// refused in the last component and resolved by name (each target checked) before it.
Result<TrustedFile> open_trusted(const std::string& path);

}  // namespace exechost::plugin

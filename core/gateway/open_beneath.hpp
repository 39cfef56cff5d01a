// openat2, the one way in which the gateway looks up names.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"
#include "exechost/gateway.hpp"

namespace exechost::gateway {

struct BeneathRequest {
  int folder = -1;         // an open folder, O_PATH is enough
  std::string relative;    // "." for the folder itself
  int flags = 0;           // O_CLOEXEC is added
  mode_t mode = 0;         // with O_CREAT and O_TMPFILE
  bool links = true;       // whether links that stay beneath are followed on the way
  std::string_view shown;  // the path in messages
  std::string_view step;   // and the step
};

// Beneath `folder` only, on its mount, never by a magic link. A rename somewhere else can make the
// kernel ask for another try (EAGAIN); it gets a bounded number.
Result<UniqueFd> open_beneath(const BeneathRequest& request, const Patience& patience);

// An absolute path without a single link in it. For roots.
Result<UniqueFd> open_without_links(const std::string& path, int flags);

// The name of what a descriptor is open on, as the kernel gives it. " (deleted)" behind it can be
// part of the name or not.
Result<std::string> name_of_descriptor(int fd, std::string_view shown);
// The path that opens what `fd` is open on, and nothing else.
std::string descriptor_path(int fd);

}  // namespace exechost::gateway

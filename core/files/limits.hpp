// How much one transfer may be: settings files.*.
#pragma once

#include <cstdint>

namespace exechost::files {

struct Limits {
  std::uint64_t entries = 200'000;
  std::uint64_t bytes = 10ULL * 1024 * 1024 * 1024;
  std::uint64_t depth = 64;  // of folders in each other; at most guest::tar::kMaxDepth
};

}  // namespace exechost::files

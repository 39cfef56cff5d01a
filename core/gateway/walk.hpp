// A tree, parents before children, links not followed, with one folder open at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/gateway/folder.hpp"
#include "core/gateway/parts.hpp"

namespace exechost::gateway {

struct WalkEntry {
  std::string relative;  // to the start; "" is the start itself
  std::string name;      // its last name; empty for the start
  FileKind kind = FileKind::other;
};

struct WalkOptions {
  std::uint64_t max_depth = UINT64_MAX;
  bool sorted = false;  // else siblings in their folder's own order
};

struct WalkHandlers {
  // False ends the walk.
  std::function<bool(const WalkEntry&)> visit;
  // A folder that could not be read, or not whole; the walk goes on behind it.
  std::function<void(const WalkEntry&, const Failure&)> complain;
};

enum class WalkEnd { complete, stopped, limit };

// `limit`: Limits::walk_entries was reached. Fails only when interrupted.
Result<WalkEnd> walk(const Gateway::Parts& parts, const Located& start, const WalkOptions& options,
                     const WalkHandlers& handlers, const Patience& patience);

}  // namespace exechost::gateway

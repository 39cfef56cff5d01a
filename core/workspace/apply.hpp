// Carries changes of a copy over into the real workspace.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/workspace/base.hpp"
#include "core/workspace/changes.hpp"
#include "exechost/files.hpp"

namespace exechost::workspace {

struct ApplyOptions {
  std::vector<std::string> paths;  // below the workspace, with what is below them; empty: all
  // Whether commands may write a path (below the workspace): what is protected from them is protected from this.
  std::function<bool(const std::string&)> may_write;
};

// Each change by itself: a file that was changed in the workspace too is a conflict and stays as it is. What was
// carried over is in `base` afterwards as if it had always been so.
Result<std::vector<AppliedChange>> apply_changes(Base& base, int tree, const std::vector<Change>& changes,
                                                 const ApplyOptions& options);

}  // namespace exechost::workspace

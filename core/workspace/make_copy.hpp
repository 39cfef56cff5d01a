// Copies a workspace: everything but sockets, FIFOs and devices, with modes and times of change.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/files/limits.hpp"
#include "core/workspace/base.hpp"

namespace exechost::workspace {

struct MakeOptions {
  files::Limits limits;
  std::function<bool()> wanted;  // false: give up, ECANCELED
};

struct MadeCopy {
  Base base;
  std::vector<std::string> left_out;  // paths
};

// As `name` in the open folder, where nothing has that name. File systems that can share blocks do. A failure
// leaves a part of it.
Result<MadeCopy> make_copy(const std::string& workspace, int folder, const std::string& name,
                           const MakeOptions& options);

}  // namespace exechost::workspace

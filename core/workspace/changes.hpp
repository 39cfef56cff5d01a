// What is different in a copy from what it was made of.
#pragma once

#include <vector>

#include "core/files/limits.hpp"
#include "core/workspace/base.hpp"
#include "exechost/files.hpp"

namespace exechost::workspace {

struct Found {
  std::vector<Change> changes;       // by path
  std::vector<CopySkipped> skipped;  // what can't be compared or carried over
};

// `tree` is the copy, open. It is a command's work: read with the limits, over no link.
Result<Found> find_changes(const Base& base, int tree, const files::Limits& limits);

std::string_view name_of(files::Kind kind);

}  // namespace exechost::workspace

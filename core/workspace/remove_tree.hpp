// Removes a tree that a command may have built: shut folders, any depth, any names. Follows no link.
#pragma once

#include <string>

#include "exechost/failure.hpp"

namespace exechost::workspace {

// `name` in the open folder. Fine when there is none.
Result<void> remove_tree(int folder, const std::string& name);

}  // namespace exechost::workspace

// What a folder holds, so that two moments can be compared byte for byte.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace exechost::test {

// One line per entry: kind, mode, owner, link count of files, size, content hash, link target and,
// where asked for, the time of the last change of content.
using Tree = std::map<std::string, std::string>;  // path relative to the root -> description

// Folders' times are left out: every mount point and every temporary file changes them.
enum class Times { ignore, compare };
Tree describe_tree(const std::string& root, Times times = Times::ignore);

// Paths that were added, removed or changed, sorted.
std::vector<std::string> changed_paths(const Tree& before, const Tree& after);

}  // namespace exechost::test

// Which symbolic links may be made in a tree.
#pragma once

#include <string_view>

namespace exechost::files {

// Whether a link in a folder that lies `depth` folders below the root stays inside the tree, whatever else is
// in it as long as every other link of the tree is of that kind too: relative, ".." only at its beginning and
// not above the root. (With ".." behind a name, a link on the way would decide where it leads.)
bool stays_inside(std::size_t depth, std::string_view target);

}  // namespace exechost::files

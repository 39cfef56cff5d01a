// "Did you mean": the known word closest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exechost::cli {

// Empty when nothing is close: more than a third of the word (at least 1, at most 3) would have
// to change. Distance: insert, delete, replace, swap two neighbours.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace exechost::cli

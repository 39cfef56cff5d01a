#include "cli/nearest.hpp"

#include <algorithm>
#include <cstddef>

namespace exechost::cli {
namespace {

// Optimal string alignment: three rows are enough.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t column = 0; column <= to.size(); ++column) last[column] = column;
  for (std::size_t line = 1; line <= from.size(); ++line) {
    row[0] = line;
    for (std::size_t column = 1; column <= to.size(); ++column) {
      const std::size_t replace = last[column - 1] + (from[line - 1] == to[column - 1] ? 0 : 1);
      row[column] = std::min({last[column] + 1, row[column - 1] + 1, replace});
      const bool swapped =
          line > 1 && column > 1 && from[line - 1] == to[column - 2] && from[line - 2] == to[column - 1];
      if (swapped) row[column] = std::min(row[column], before_last[column - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[to.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestWord = 64;  // keeps hostile input cheap
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::size_t limit = std::clamp<std::size_t>(word.size() / 3, 1, 3);
  std::string best;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : known) {
    const std::size_t found = distance(word, candidate);
    if (found < best_distance) {
      best = candidate;
      best_distance = found;
    }
  }
  return best;
}

}  // namespace exechost::cli

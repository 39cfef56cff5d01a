#include "cli/text_table.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/utf8.hpp"

namespace exechost::cli {
namespace {

// Code points, not bytes: close enough to columns for what is shown here.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows) {
    auto& escaped = cells.emplace_back();
    for (std::size_t column = 0; column < row.size(); ++column) {
      escaped.push_back(escape_for_terminal(row[column]));
      if (column == widths.size()) widths.push_back(0);
      widths[column] = std::max(widths[column], width(escaped.back()));
    }
  }
  std::string text;
  for (const auto& row : cells) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      text += row[column];
      if (column + 1 < row.size()) text.append(widths[column] - width(row[column]) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace exechost::cli

// Rows with aligned columns, for a terminal.
#pragma once

#include <string>
#include <vector>

namespace exechost::cli {

// Two spaces between columns, no space at a line's end. Cells are escaped; a row may be shorter.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace exechost::cli

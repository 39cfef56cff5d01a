#include "cli/command_line.hpp"

#include <algorithm>

namespace exechost::cli {

bool CommandLine::mentions(std::string_view flag) const {
  return std::find(options.begin(), options.end(), flag) != options.end();
}

CommandLine split_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  for (auto word = arguments.begin(); word != separator; ++word) {
    if (word->starts_with("--") && word->find('=') == word->size() - 1) {
      line.options.push_back(word->substr(0, word->size() - 1));
      line.options.emplace_back();
    } else {
      line.options.push_back(*word);
    }
  }
  if (separator != arguments.end()) {
    line.has_command = true;
    line.command.assign(separator + 1, arguments.end());
  }
  return line;
}

}  // namespace exechost::cli

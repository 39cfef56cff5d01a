// The arguments of the program, split before any parser sees them, so that the command after
// "--" stays exactly what the caller gave.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exechost::cli {

struct CommandLine {
  std::vector<std::string> options;  // everything before the first "--"
  std::vector<std::string> command;  // everything after it, byte for byte
  bool has_command = false;          // a "--" was there, even with nothing after it

  // True when `flag` ("--json") stands among the options: for errors found before parsing is done.
  bool mentions(std::string_view flag) const;
};

// `arguments` without the program's name. "--name=" becomes two words, since the parser would
// otherwise take the next option for its value.
CommandLine split_command_line(const std::vector<std::string>& arguments);

}  // namespace exechost::cli

// What can be completed: read from the parser, so that the scripts never differ from the program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace exechost::cli {

struct CompletableOption {
  std::vector<std::string> names;  // "--tty", "-t"
  std::string help;
  bool takes_value = false;
  // Words separated by spaces, or "@backends", "@profiles", "@files", "@folders", or nothing.
  std::string choices;
};

struct CompletableCommand {
  std::string name;
  std::string summary;
  std::vector<CompletableOption> options;
  std::string positional;      // choices of the one positional argument; "@files": any number of files
  bool takes_command = false;  // words after "--" are a command of their own
};

// `root`'s subcommands with their options.
std::vector<CompletableCommand> completable_commands(const CLI::App& root);

}  // namespace exechost::cli

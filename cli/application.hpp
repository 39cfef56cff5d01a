// The whole program: its subcommands, one parser, one dispatch.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace exechost::cli {

class Application {
 public:
  Application();
  // `arguments` without the program's name; the exit status.
  int run(const std::vector<std::string>& arguments);
  // For tests and completion.
  const CLI::App& parser() const { return parser_; }

 private:
  struct Entry {
    std::unique_ptr<Command> command;
    CLI::App* parser = nullptr;
  };
  void add(std::unique_ptr<Command> command);
  Entry* entry_named(const std::string& name);
  int parse_and_run(const CommandLine& line);
  int usage_error(const Entry* entry, const CommandLine& line, const Failure& failure) const;

  CLI::App parser_;
  std::vector<Entry> entries_;
  bool version_ = false;
};

// What is wrong with words the parser did not know: an unknown option with the nearest known one,
// or a command that lacks its "--".
// `takes_command`: whether a command to run may stand after --.
Failure unknown_words(const CLI::App& parser, const std::vector<std::string>& words, bool takes_command);

// The long and short options of `parser`, as written ("--json", "-h").
std::vector<std::string> option_names(const CLI::App& parser);

}  // namespace exechost::cli

#include "cli/completion/model.hpp"

#include <algorithm>

#include "cli/request_options.hpp"

namespace exechost::cli {
namespace {

std::string choices_of(const std::string& name) {
  if (name == "--cwd") return "@folders";
  for (const SettingOption& option : setting_options()) {
    if (name == option.name) return option.choices;
  }
  return {};
}

std::string positional_choices(const std::string& command) {
  if (command == "approvals") return "list allow revoke";
  if (command == "cp") return "@files";
  if (command == "plugin") return "new";
  if (command == "schema") return "settings plan result capability open";
  if (command == "completion") return "bash zsh fish";
  return {};
}

CompletableOption completable(const CLI::Option& option) {
  CompletableOption result;
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  result.help = option.get_description();
  result.takes_value = option.get_type_size() != 0 && option.get_expected_min() > 0;
  if (result.takes_value && !result.names.empty()) result.choices = choices_of(result.names.front());
  return result;
}

}  // namespace

std::vector<CompletableCommand> completable_commands(const CLI::App& root) {
  std::vector<CompletableCommand> commands;
  for (const CLI::App* parser : root.get_subcommands(nullptr)) {
    CompletableCommand command;
    command.name = parser->get_name();
    command.summary = parser->get_description();
    command.positional = positional_choices(command.name);
    for (const CLI::Option* option : parser->get_options()) {
      const bool hidden = option->get_group().empty();
      if (option->get_positional() || hidden) continue;
      command.options.push_back(completable(*option));
    }
    command.takes_command =
        std::any_of(command.options.begin(), command.options.end(),
                    [](const CompletableOption& option) { return option.names.front() == "--shell"; });
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace exechost::cli

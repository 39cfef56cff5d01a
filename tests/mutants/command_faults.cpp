#include "tests/mutants/command_faults.hpp"

#include <algorithm>
#include <sstream>

namespace mutants {
namespace {

constexpr std::size_t kMaxArguments = 1000;

using Texts = std::vector<std::string>;

Texts split(const Texts& arguments) {
  Texts parts;
  for (const std::string& argument : arguments) {
    std::istringstream words(argument);
    Texts found;
    for (std::string word; words >> word;) found.push_back(word);
    if (argument.find(' ') == std::string::npos) found = {argument};
    parts.insert(parts.end(), found.begin(), found.end());
  }
  return parts;
}

Texts joined_by_shell(const Texts& arguments) {
  std::string line;
  for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
  return {"/bin/sh", "-c", line};
}

}  // namespace

Command changed(Command command, Fault fault) {
  Texts& arguments = command.arguments;
  Texts& environment = command.environment;
  switch (fault) {
    case Fault::ignores_cwd: command.folder = "/"; break;
    case Fault::ignores_environment:
      std::erase_if(environment, [](const std::string& variable) { return !variable.starts_with("PATH="); });
      break;
    case Fault::adds_environment: environment.emplace_back("MUTANT=1"); break;
    case Fault::splits_arguments_on_spaces: arguments = split(arguments); break;
    case Fault::drops_empty_arguments:
      std::erase_if(arguments, [](const std::string& argument) { return argument.empty(); });
      break;
    case Fault::joins_arguments_by_shell: arguments = joined_by_shell(arguments); break;
    case Fault::forgets_max_args: arguments.resize(std::min(arguments.size(), kMaxArguments)); break;
    default: break;
  }
  return command;
}

}  // namespace mutants

#include <fmt/format.h>

#include "cli/completion/script.hpp"

namespace exechost::cli {
namespace {

// The reply for one set of choices, as a line of the script.
std::string reply(const std::string& choices) {
  if (choices == "@files") return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
  if (choices == "@folders") return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
  if (choices.starts_with("@")) {
    return fmt::format(
        "mapfile -t COMPREPLY < <(compgen -W \"$(\"${{COMP_WORDS[0]}}\" completion --values {} 2>/dev/null)\" -- "
        "\"$cur\")",
        choices.substr(1));
  }
  if (choices.empty()) return "COMPREPLY=()";
  return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")", choices);
}

std::string value_cases(const CompletableCommand& command) {
  std::string text;
  for (const CompletableOption& option : command.options) {
    if (!option.takes_value) continue;
    for (const std::string& name : option.names) {
      text += fmt::format("    {}:{}) {}; return ;;\n", command.name, name, reply(option.choices));
    }
  }
  return text;
}

std::string words_case(const CompletableCommand& command) {
  std::string words;
  for (const CompletableOption& option : command.options) {
    for (const std::string& name : option.names) words += name + " ";
  }
  if (command.takes_command) words += "-- ";
  if (command.positional == "@files") {
    return fmt::format("    {}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -W '{}' -f -- \"$cur\") ;;\n",
                       command.name, words);
  }
  words += command.positional;
  return fmt::format("    {}) mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\") ;;\n", command.name, words);
}

constexpr const char* kHead = R"sh(# Completion of exechost for bash: source it, for example by
#   source <(exechost completion bash)
_exechost() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="" i
  (( COMP_CWORD > 0 )) && prev="${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  # "--name=value" arrives as three words.
  if [[ $cur == "=" ]]; then
    cur=""
  elif [[ $prev == "=" ]] && (( COMP_CWORD > 1 )); then
    prev="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for (( i = 1; i < COMP_CWORD; i++ )); do
    [[ ${COMP_WORDS[i]} == "--" ]] || continue
    # What follows is a command of its own.
    if declare -F _command_offset >/dev/null; then
      _command_offset "$((i + 1))"
    elif (( COMP_CWORD == i + 1 )); then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
    return
  done
)sh";

}  // namespace

std::string bash_completion(const std::vector<CompletableCommand>& commands) {
  std::string names;
  std::string values;
  std::string words;
  for (const CompletableCommand& command : commands) {
    names += command.name + " ";
    values += value_cases(command);
    words += words_case(command);
  }
  return fmt::format(
      "{}  if (( COMP_CWORD == 1 )); then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{}--help --version' -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}:$prev\" in\n{}  esac\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
      "}}\n"
      "complete -F _exechost exechost\n",
      kHead, names, values, words);
}

}  // namespace exechost::cli

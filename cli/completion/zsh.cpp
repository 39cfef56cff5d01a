#include <fmt/format.h>

#include "cli/completion/script.hpp"

namespace exechost::cli {
namespace {

// For text inside single quotes that _arguments and _describe take apart again.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char character : text) {
    switch (character) {
      case '\'': result += "'\\''"; break;
      case '[':
      case ']':
      case ':':
      case '\\':
        result += '\\';
        result += character;
        break;
      default: result += character;
    }
  }
  return result;
}

std::string action(const std::string& choices) {
  if (choices == "@files") return "_files";
  if (choices == "@folders") return "_files -/";
  // The space keeps _arguments from adding options of its own to the call.
  if (choices.starts_with("@")) return fmt::format(" _exechost_values {}", choices.substr(1));
  return choices.empty() ? " " : fmt::format("({})", choices);
}

std::string argument(const CompletableOption& option, const std::string& name) {
  if (!option.takes_value) return fmt::format("      '*{}[{}]' \\\n", name, quoted(option.help));
  return fmt::format("      '*{}=[{}]:value:{}' \\\n", name, quoted(option.help), action(option.choices));
}

constexpr const char* kHead = R"sh(#compdef exechost
# Completion of exechost for zsh: put it as _exechost into a folder of $fpath, or source it after
# compinit by: source <(exechost completion zsh)
_exechost_values() {
  local -a values
  values=("${(@f)$(exechost completion --values $1 2>/dev/null)}")
  compadd -a values
}
_exechost() {
  local separator=${words[(i)--]}
  if (( separator < CURRENT )); then
    # What follows is a command of its own.
    shift $separator words
    (( CURRENT -= separator ))
    _normal
    return
  fi
)sh";

}  // namespace

std::string zsh_completion(const std::vector<CompletableCommand>& commands) {
  std::string names;
  std::string cases;
  for (const CompletableCommand& command : commands) {
    names += fmt::format("      '{}:{}'\n", command.name, quoted(command.summary));
    cases += fmt::format("    {}) _arguments \\\n", command.name);
    for (const CompletableOption& option : command.options) {
      for (const std::string& name : option.names) cases += argument(option, name);
    }
    if (command.positional.empty()) {
      cases += "      && return ;;\n";
    } else if (command.positional == "@files") {
      cases += "      '*:file:_files' && return ;;\n";
    } else {
      cases += fmt::format("      '1:name:({})' && return ;;\n", command.positional);
    }
  }
  return fmt::format(
      "{}  if (( CURRENT == 2 )); then\n"
      "    local -a commands\n"
      "    commands=(\n{}    )\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT -= 1 ))\n"
      "  case $command in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _exechost ]]; then _exechost \"$@\"; else compdef _exechost exechost; fi\n",
      kHead, names, cases);
}

}  // namespace exechost::cli

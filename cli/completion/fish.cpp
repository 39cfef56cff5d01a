#include <fmt/format.h>

#include "cli/completion/script.hpp"

namespace exechost::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) {
    if (character == '\'' || character == '\\') result += '\\';
    result += character;
  }
  return result + "'";
}

std::string value_words(const std::string& choices) {
  if (choices == "@files") return " -r -F";
  if (choices == "@folders") return " -x -a '(__fish_complete_directories)'";
  if (choices.starts_with("@"))
    return fmt::format(" -x -a '(exechost completion --values {} 2>/dev/null)'", choices.substr(1));
  return choices.empty() ? " -x" : fmt::format(" -x -a {}", quoted(choices));
}

std::string option_line(const std::string& command, const CompletableOption& option) {
  std::string line = fmt::format("complete -c exechost -n '__exechost_in {}'", command);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_value) line += value_words(option.choices);
  return line + " -d " + quoted(option.help) + "\n";
}

constexpr const char* kHead =
    R"sh(# Completion of exechost for fish: exechost completion fish > ~/.config/fish/completions/exechost.fish
function __exechost_after_separator
    contains -- -- (commandline -opc)
end
function __exechost_in
    set -l words (commandline -opc)
    not __exechost_after_separator; and test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"
end
function __exechost_first
    test (count (commandline -opc)) -eq 1
end
# The words after "--" are a command of their own.
function __exechost_command
    set -l words (commandline -opc)
    set -l separator (contains -i -- -- $words)
    set -e words[1..$separator]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end
complete -c exechost -f
complete -c exechost -n __exechost_after_separator -x -a '(__exechost_command)'
complete -c exechost -n __exechost_first -l help -s h -d 'Show the help'
complete -c exechost -n __exechost_first -l version -d 'Show the version'
)sh";

}  // namespace

std::string fish_completion(const std::vector<CompletableCommand>& commands) {
  std::string text = kHead;
  for (const CompletableCommand& command : commands) {
    text +=
        fmt::format("complete -c exechost -n __exechost_first -a {} -d {}\n", command.name, quoted(command.summary));
    if (command.positional == "@files") {
      text += fmt::format("complete -c exechost -n '__exechost_in {}' -F\n", command.name);
    } else if (!command.positional.empty()) {
      text +=
          fmt::format("complete -c exechost -n '__exechost_in {}' -a {}\n", command.name, quoted(command.positional));
    }
    for (const CompletableOption& option : command.options) text += option_line(command.name, option);
  }
  return text;
}

}  // namespace exechost::cli

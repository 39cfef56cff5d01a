#include "core/keeper/shell/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/keeper/shell/text.hpp"
#include "core/plan/shell_words.hpp"

namespace exechost::keeper::shell {
namespace {

constexpr std::string_view kBash = "/bin/bash";
constexpr std::string_view kSh = "/bin/sh";
// They would keep bash from reading what it gets; the script has them again.
constexpr std::string_view kStartUpFile = "BASH_ENV";
constexpr std::string_view kPosix = "POSIXLY_CORRECT";

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

struct Variable {
  std::string_view name;
  std::string_view value;
  bool given = false;  // by the run itself, so it wins over what an earlier one left
  bool is_identifier() const {
    const auto is_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
           std::all_of(name.begin(), name.end(), is_word);
  }
};

std::vector<Variable> split(const std::vector<std::string>& variables, const plan::ShellRun& run) {
  std::vector<Variable> all;
  for (const std::string_view variable : variables) {
    const std::size_t end = std::min(variable.find('='), variable.size());
    Variable one{variable.substr(0, end), variable.substr(std::min(end + 1, variable.size())), false};
    one.given =
        std::find(run.given_variables.begin(), run.given_variables.end(), one.name) != run.given_variables.end();
    all.push_back(one);
  }
  return all;
}

// What an earlier run unset stays unset: of the variables that this one starts with only those stay that it gives.
std::string unset_others(std::string_view command, const std::vector<Variable>& variables) {
  std::string names;
  for (const Variable& variable : variables) {
    if (variable.given || !variable.is_identifier()) continue;
    names += ' ';
    names += variable.name;
  }
  return names.empty() ? names : fmt::format("{}{} >&- 2>&-\n", command, names);
}

std::string set_given(std::string_view command, const std::vector<Variable>& variables) {
  std::string text;
  for (const Variable& variable : variables) {
    if (!variable.given || !variable.is_identifier() || variable.name == kStartUpFile || variable.name == kPosix)
      continue;
    text += fmt::format("{} {}={} >&- 2>&-\n", command, variable.name, quote(variable.value));
  }
  return text;
}

const Variable* find(const std::vector<Variable>& variables, std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [name](const Variable& variable) { return variable.name == name; });
  return found == variables.end() ? nullptr : &*found;
}

std::string export_again(const std::vector<Variable>& variables, std::string_view name) {
  const Variable* const variable = find(variables, name);
  return variable == nullptr ? std::string() : fmt::format("export {}={}\n", name, quote(variable->value));
}

std::string call(std::string_view function, std::initializer_list<std::string> arguments) {
  std::string text(function);
  for (const std::string& argument : arguments) text.append(1, ' ').append(argument);
  return text.append(" >&- 2>&-\n");
}

std::string bash_input(const std::optional<State>& state, const plan::ShellRun& run,
                       const std::vector<Variable>& variables) {
  std::string text(kBashSetUp);
  text += export_again(variables, kStartUpFile);
  if (!state) return text + export_again(variables, kPosix);
  text += kBashReturn;
  if (run.cwd_given || state->folder.empty()) {
    text += "builtin unset -f __exechost_enter\n";
  } else {
    text += call("__exechost_enter", {quote(state->folder)});
  }
  text += "__exechost_pwd=$PWD\n";
  text += unset_others("builtin unset -v", variables);
  text += call("builtin eval", {quote(state->variables)});
  text += "builtin printf -v PWD %s \"$__exechost_pwd\" 2>&-\nbuiltin unset -v __exechost_pwd\n";
  // What functions are made of must not be read in that mode; whoever had it has it again in the end.
  const Variable* const posix = find(variables, kPosix);
  text += posix != nullptr && posix->given ? "__exechost_posix=1\n"
                                           : "[[ ! ${POSIXLY_CORRECT+x} ]] || __exechost_posix=1\n";
  text += "builtin set +o posix\n";
  text += set_given("builtin declare -x", variables);
  text += "builtin shopt -s extglob\n";
  text += call("builtin eval", {quote(state->functions)});
  text += "builtin shopt -u extglob\n";
  text += call("__exechost_attributes", {quote(state->attributes)});
  text += call("__exechost_options", {quote(state->shopts), quote(state->options), "\"${__exechost_posix-}\""});
  return text;
}

std::string sh_input(const State& state, const plan::ShellRun& run, const std::vector<Variable>& variables) {
  std::string text(kShReturn);
  if (!run.cwd_given && !state.folder.empty()) text += call("__exechost_enter", {quote(state.folder)});
  text += "__exechost_pwd=$PWD\n";
  text += unset_others("command unset -v", variables);
  text += call("command eval", {quote(state.variables)});
  text += "PWD=$__exechost_pwd\nunset -v __exechost_pwd\n";
  text += set_given("command export", variables);
  return text;
}

// Of the letters in $- those that one run can hand on to the next; nothing else of it is looked at.
std::string sh_options(const State& state) {
  std::string letters;
  for (const char letter : std::string_view("aCefuvx")) {
    if (state.options.find(letter) != std::string::npos) letters += letter;
  }
  return letters.empty() ? letters : fmt::format("set -{}; ", letters);
}

std::vector<std::string> sh_argv(const State* state, const plan::ShellRun& run,
                                 const std::vector<Variable>& variables) {
  const auto parts = plan::script_parts(run.script);
  std::string text = fmt::format("__exechost_script={}\nshift {}\nunset -v BASH_ENV\n",
                                 plan::joined_parameters(parts.size()), parts.size());
  text += export_again(variables, kStartUpFile) + export_again(variables, kPosix);
  if (state != nullptr) text += ". /proc/self/fd/8\n";
  text += "exec 8<&-\n";
  text += kShSetUp;
  text += "__exechost_options=" + quote(state != nullptr ? sh_options(*state) : std::string()) + '\n';
  text += kShRun;
  std::vector<std::string> words{std::string(kSh), "-c", std::move(text), std::string(kSh)};
  words.insert(words.end(), parts.begin(), parts.end());
  return words;
}

}  // namespace

Program make_program(const std::optional<State>& state, const plan::ShellRun& run,
                     const std::vector<std::string>& variables) {
  const auto split_variables = split(variables, run);
  Program program;
  for (const Variable& variable : split_variables) {
    if (variable.name == kStartUpFile || variable.name == kPosix) continue;
    program.variables.push_back(fmt::format("{}={}", variable.name, variable.value));
  }
  if (state && !state->bash) {
    program.argv = sh_argv(&*state, run, split_variables);
    program.input = sh_input(*state, run, split_variables);
    return program;
  }
  program.variables.push_back(fmt::format("{}=/proc/self/fd/{}", kStartUpFile, kStateIn));
  program.argv = plan::script_words(kBash, run.script);
  program.fallback = sh_argv(nullptr, run, split_variables);
  program.input = bash_input(state, run, split_variables);
  return program;
}

}  // namespace exechost::keeper::shell

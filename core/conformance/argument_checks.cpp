// Level 1: arguments and environment arrive byte for byte.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"

namespace exechost::conformance {
namespace {

// Prints its arguments, each followed by a NUL.
constexpr const char* kDump = R"(for argument; do printf '%s\0' "$argument"; done)";

Verdict arrives(Subject& subject, std::string_view what, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{"/bin/sh", "-c", kDump, "sh"};
  std::string expected;
  for (const std::string& argument : arguments) {
    argv.push_back(argument);
    expected += argument;
    expected += '\0';
  }
  return exact(what, subject.run(subject.request(std::move(argv))), expected);
}

Verdict odd_arguments(Subject& subject) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  return arrives(subject, "unusual arguments",
                 {"",         " ",        "two words", "new\nline", "\ttab", "'single'", "\"double\"", "back\\slash",
                  "$HOME",    "`id`",     "$(id)",     "*",         "?",     "[a]",      "~",          "-",
                  "--",       "-n",       "a;b",       "a&b",       "a|b",   ">x",       "#c",         "%s",
                  "\xc3\xbc", "\xff\xfe", every_byte,  ""});
}

Verdict many_arguments(Subject& subject) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 1000; ++i) arguments.push_back(fmt::format("argument {}", i));
  return arrives(subject, "1,000 arguments", arguments);
}

Verdict long_argument(Subject& subject) {
  // execve(2): one argument may have 131,072 bytes, its end included.
  return arrives(subject, "an argument of 120,000 bytes", {std::string(120'000, 'x') + "end"});
}

Verdict long_script(Subject& subject) {
  Request request = subject.request({"/bin/sh", "-s"});
  request.standard_input.kind = StdinSource::Kind::bytes;
  request.standard_input.bytes = ": '" + std::string(150UL * 1024, 'x') + "'\necho done\nexit 4\n";
  return exact("a script of 150 KiB on stdin", subject.run(request), "done\n", {}, 4);
}

std::map<std::string, std::string> environment_in(std::string_view dump) {
  std::map<std::string, std::string> variables;
  while (!dump.empty()) {
    const std::size_t end = std::min(dump.find('\0'), dump.size());
    const std::string_view entry = dump.substr(0, end);
    const std::size_t sign = std::min(entry.find('='), entry.size());
    variables.emplace(entry.substr(0, sign), entry.substr(std::min(sign + 1, entry.size())));
    dump.remove_prefix(std::min(end + 1, dump.size()));
  }
  return variables;
}

Verdict same_variables(const std::map<std::string, std::string>& seen,
                       const std::map<std::string, std::optional<std::string>>& expected) {
  for (const auto& [name, value] : expected) {
    const auto found = seen.find(name);
    if (found == seen.end()) return Verdict::failed(fmt::format("the variable {} is not there", name));
    if (value && found->second != *value)
      return Verdict::failed(
          fmt::format("the variable {} is {} instead of {}", name, shown(found->second), shown(*value)));
  }
  for (const auto& [name, value] : seen) {
    if (!expected.contains(name))
      return Verdict::failed(fmt::format("there is a variable {} that nobody gave it", shown(name)));
  }
  return Verdict::passed();
}

Verdict exact_environment(Subject& subject) {
  Request request = subject.request({"/usr/bin/env", "-0"});
  request.env = {{"CONFORMANCE_EMPTY", ""},
                 {"CONFORMANCE_TEXT", "a=b c\nd\t\"'$HOME\xc3\xbc"},
                 {"CONFORMANCE_LONG", std::string(20'000, 'v')}};
  const auto explained = subject.host().explain_json(request);
  if (!explained) return Verdict::failed("explain: " + explained.error().message);
  // What may be a secret is named there without its value.
  std::map<std::string, std::optional<std::string>> expected;
  const auto plan = nlohmann::json::parse(*explained);
  for (const auto& [name, value] : plan.at("environment").items())
    expected[name] = value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  for (const auto& [name, value] : request.env) expected[name] = value;
  const ExecResult result = subject.run(request);
  if (auto verdict = exits_with("env", result, 0); verdict.kind != Verdict::Kind::passed) return verdict;
  return same_variables(environment_in(result.out.data), expected);
}

}  // namespace

std::vector<Check> argument_checks() {
  return {
      {Level::streams, "arguments.bytes", "arguments arrive byte for byte, empty ones too", odd_arguments},
      {Level::streams, "arguments.many", "a thousand arguments arrive", many_arguments},
      {Level::streams, "arguments.long", "an argument of 120,000 bytes arrives", long_argument},
      {Level::streams, "arguments.script", "a script of 150 KiB on stdin runs", long_script},
      {Level::streams, "environment.exact", "the command has exactly the variables it was given", exact_environment}};
}

}  // namespace exechost::conformance

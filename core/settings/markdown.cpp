#include <fmt/format.h>

#include <utility>

#include "core/settings/project_rule.hpp"
#include "core/settings/schema_tree.hpp"
#include "core/settings/settings.hpp"
#include "core/settings/text.hpp"
#include "core/settings/variables.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

constexpr std::string_view kIntroduction = R"(# Settings

<!-- Made from core/settings/settings.schema.json; change that file, not this one. -->

A settings document is a JSON object. Documents are read, weakest first, from

1. the built-in values below,
2. `/etc/exechost/settings.json` (the machine's),
3. `$XDG_CONFIG_HOME/exechost/settings.json` (the user's),
4. `.exechost.json` in the workspace (the project's),
5. the chosen profile,
6. `TERMINAL_*` environment variables,
7. the request: options of the command line, fields of a library call,
8. `/etc/exechost/managed.json` (the administrator's).

A stronger document replaces what a weaker one says, setting by setting; a list is replaced
whole. The deny lists (`filesystem.deny_write`, `filesystem.deny_read`, `network.denied_domains`,
`environment.exclude`) unite over all documents. `exechost settings --show-origin` shows every
value with the place it came from.

A project's file comes with the files that are not trusted, so it may only narrow. The column
*project* says how:

| rule | a project's file may |
|---|---|
| `min` | give a smaller number, or an earlier choice of the list (choices stand from the strictest to the weakest) |
| `subset` | take entries away |
| `superset` | add entries |
| `off_only` | switch it off |
| `forbidden` | not set it |

A file must belong to root or to the user, must not be writable by group or others, must not be a
symbolic link, and has at most 1 MiB. Its folder, unless it is the project's, must belong to root or to
the user and must not be writable by others (a group is taken as the user's own). Unknown names,
names given twice, and comments are errors.

Sizes are written `512m`, `2GiB`, or as a plain number of MiB; the units k, m, g and t are powers
of 1024 with or without `b` or `ib`. Durations are written `30s`, `5m`, `250ms`, or as a plain
number of seconds. Switches in variables are one of 1, 0, true, false, yes, no, on, off. 0, negative
numbers, empty text and anything else are errors, never ignored.
)";

constexpr std::string_view kVariables = R"(
## Variables

`TERMINAL_ENV` chooses the backend; blanks around the name and its case don't matter. `local`
means no isolation at all: the node tier. Every setting of a backend has a variable
`TERMINAL_<ID>_<NAME>`. A variable that belongs to a backend which is not chosen is not even
read: `TERMINAL_CONTAINER_*` is for every backend but ssh and local, `TERMINAL_BUBBLEWRAP_*` for
bwrap. Lists and objects are written as JSON. A name that is not known is ignored; one that looks
like a slip of a known name is warned about, and so is a variable that changes what a file says.

Names that other programs read and that mean nothing here: )";

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string type_of(const SchemaTree::Node& node) {
  const std::string kind = node.word("x-kind");
  const std::string none = node.accepts("null") ? " or none" : "";
  if (kind == "size") return "size" + none;
  if (kind == "duration") return "duration" + none;
  if (kind == "cpu") return "number of cores" + none;
  if (const json* words = node.keyword("enum")) {
    std::vector<std::string> names;
    for (const json& word : *words) names.push_back("`" + word.get<std::string>() + "`");
    return join(names);
  }
  if (node.accepts("array")) return "list";
  if (node.accepts("object")) return "object";
  if (node.accepts("boolean")) return "switch";
  return node.accepts("integer") ? "whole number" : node.accepts("number") ? "number" : "text";
}

std::string default_of(const SchemaTree::Node& node) {
  const json* value = node.keyword("default");
  if (value == nullptr) return "none";
  return "`" + (value->is_string() && !value->get<std::string>().empty() ? value->get<std::string>() : value->dump()) +
         "`";
}

std::string variables_of(const SchemaTree::Node& node) {
  const json* names = node.keyword("x-env");
  if (names == nullptr) return "";
  std::vector<std::string> words;
  for (const json& name : names->is_array() ? *names : json::array({*names}))
    words.push_back("`" + name.get<std::string>() + "`");
  return join(words);
}

constexpr std::string_view kHead =
    "\n| name | type | default | variable | project | meaning |\n|---|---|---|---|---|---|\n";

std::string row(const SchemaTree& tree, const Path& path, const SchemaTree::Node& node) {
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", dotted(path), cell(type_of(node)), cell(default_of(node)),
                     cell(variables_of(node)), project_rule(tree, path), cell(node.word("description")));
}

}  // namespace

std::string schema_markdown() {
  const auto tree = SchemaTree::make({});
  if (!tree) return "";
  std::string general;
  std::string sections;
  std::string section;
  for (const auto& [path, node] : tree->leaves()) {
    if (path.size() == 1) {
      general += row(*tree, path, node);
      continue;
    }
    if (path[0] != section) {
      section = path[0];
      const std::string about = tree->find({section}).word("description");
      sections += fmt::format("\n## {}\n\n{}\n{}", section, about, kHead);
    }
    sections += row(*tree, path, node);
  }
  std::vector<std::string> others;
  for (const std::string& name : names_without_counterpart()) others.push_back("`" + name + "`");
  return fmt::format("{}\n## General\n{}{}{}{}{}.\n", kIntroduction, kHead, general, sections, kVariables,
                     join(others));
}

}  // namespace exechost::settings

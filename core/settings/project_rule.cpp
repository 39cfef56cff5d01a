#include "core/settings/project_rule.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/settings/text.hpp"
#include "core/settings/units.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

// Where a value stands among those that the setting can have.
double rank(const SchemaTree::Node& node, const json& value) {
  if (value.is_null()) return std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  const json* words = node.keyword("enum");
  if (words == nullptr) return std::numeric_limits<double>::quiet_NaN();
  const auto at = std::find(words->begin(), words->end(), value);
  return static_cast<double>(at - words->begin());
}

std::string shown(const SchemaTree::Node& node, const json& value) {
  if (value.is_null()) return "none";
  const std::string kind = node.word("x-kind");
  if (kind == "size" && value.is_number()) return format_size(value.get<std::uint64_t>());
  if (kind == "duration" && value.is_number()) {
    return format_duration(std::chrono::milliseconds(value.get<std::int64_t>()));
  }
  return show_value(value);
}

std::string outermost_rule(const SchemaTree& tree, const Path& path, std::string_view keyword) {
  SchemaTree::Node node = tree.root();
  for (const std::string& key : path) {
    node = tree.child(node, key);
    if (std::string rule = node.word(keyword); !rule.empty()) return rule;
  }
  return {};
}

bool holds(const json& list, const json& item) { return std::find(list.begin(), list.end(), item) != list.end(); }

}  // namespace

std::string project_rule(const SchemaTree& tree, const Path& path) {
  const std::string rule = outermost_rule(tree, path, "x-project");
  return rule.empty() ? "forbidden" : rule;
}

std::string request_rule(const SchemaTree& tree, const Path& path) { return outermost_rule(tree, path, "x-request"); }

std::optional<std::string> project_refusal(const std::string& rule, const SchemaTree::Node& node, const json& current,
                                           const json& wanted, const std::string& who) {
  const std::string start = who + ' ';
  if (rule == "min" || rule == "max") {
    const double now = rank(node, current);
    const double then = rank(node, wanted);
    if (rule == "min" ? then <= now : then >= now) return std::nullopt;
    const bool word = wanted.is_string();
    return start +
           (rule == "min" ? (word ? "may only make this stricter than " : "may only lower this, from ")
                          : (word ? "may only go beyond " : "may only raise this, from ")) +
           shown(node, current);
  }
  if (rule == "subset") {
    for (const json& item : wanted) {
      if (!holds(current, item)) return start + "may only take entries away; new is " + show_value(item);
    }
    return std::nullopt;
  }
  if (rule == "superset") {
    if (node.word("x-merge") == "unite") return std::nullopt;
    for (const json& item : current) {
      if (!holds(wanted, item)) return start + "may only add entries; missing is " + show_value(item);
    }
    return std::nullopt;
  }
  if (rule == "off_only") {
    if (wanted == false) return std::nullopt;
    return start + "may only switch this off";
  }
  return start + "may not set this";
}

}  // namespace exechost::settings

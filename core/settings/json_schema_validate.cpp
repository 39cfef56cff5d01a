#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/settings/json_schema.hpp"
#include "core/settings/text.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

bool has_type(const json& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (value.is_number_integer()) return true;  // "integer"
  return value.is_number_float() && std::isfinite(value.get<double>()) &&
         std::trunc(value.get<double>()) == value.get<double>();
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

std::vector<std::string> names_of(const json& list) {
  std::vector<std::string> names;
  for (const json& entry : list) names.push_back(entry.is_string() ? entry.get<std::string>() : show_value(entry));
  return names;
}

}  // namespace

// One walk over value and schema together.
class Validation {
 public:
  Validation(const JsonSchema& schema, std::size_t& budget) : schema_(schema), budget_(budget) {}

  struct Place {
    std::string pointer;
    bool secret = false;
    int depth = 0;

    Place below(const std::string& token) const { return {pointer + "/" + pointer_token(token), secret, depth + 1}; }
  };

  bool check(const json& value, const json& node, Place place) {
    const std::size_t before = issues_.size();
    if (place.depth > JsonSchema::kMaxDepth || budget_ == 0) {
      issues_.push_back({place.pointer, "", budget_ == 0 ? "takes too many steps to check" : "nests too deep"});
      return false;
    }
    --budget_;
    if (node.is_boolean()) {
      if (!node.get<bool>()) add(place, value, "nothing is allowed here");
    } else {
      place.secret = place.secret || node.value("x-secret", false);
      check_node(value, node, place);
    }
    return issues_.size() == before;
  }

  std::vector<SchemaIssue> take() { return std::move(issues_); }

 private:
  void add(const Place& place, const json& value, std::string rule) {
    std::string shown = place.secret ? "(secret)" : value.is_structured() ? "" : show_value(value);
    issues_.push_back({place.pointer, std::move(shown), std::move(rule)});
  }

  void check_node(const json& value, const json& node, const Place& place) {
    if (const auto at = node.find("$ref"); at != node.end()) {
      const auto& target = schema_.document_.at(json::json_pointer(at->get<std::string>().substr(1)));
      check(value, target, {place.pointer, place.secret, place.depth + 1});
    }
    // A value of the wrong type says nothing more useful about itself.
    if (!check_type(value, node, place)) return;
    check_choice(value, node, place);
    if (value.is_number()) check_number(value, node, place);
    if (value.is_string()) check_string(value, node, place);
    if (value.is_array()) check_array(value, node, place);
    if (value.is_object()) check_object(value, node, place);
    check_alternatives(value, node, place);
  }

  bool check_type(const json& value, const json& node, const Place& place) {
    const auto at = node.find("type");
    if (at == node.end()) return true;
    const auto types = at->is_array() ? names_of(*at) : std::vector<std::string>{at->get<std::string>()};
    for (const std::string& type : types) {
      if (has_type(value, type)) return true;
    }
    add(place, value, "must be of type " + join(types, " or "));
    return false;
  }

  void check_choice(const json& value, const json& node, const Place& place) {
    if (const auto at = node.find("const"); at != node.end() && value != *at) {
      add(place, value, "must be " + show_value(*at));
    }
    const auto at = node.find("enum");
    if (at == node.end()) return;
    for (const json& choice : *at) {
      if (choice == value) return;
    }
    const auto names = names_of(*at);
    add(place, value,
        "must be one of " + join(names) + (value.is_string() ? did_you_mean(value.get<std::string>(), names) : ""));
  }

  void check_number(const json& value, const json& node, const Place& place) {
    if (const auto at = node.find("minimum"); at != node.end() && value < *at) {
      add(place, value, "must be at least " + at->dump());
    }
    if (const auto at = node.find("maximum"); at != node.end() && value > *at) {
      add(place, value, "must be at most " + at->dump());
    }
    if (const auto at = node.find("exclusiveMinimum"); at != node.end() && value <= *at) {
      add(place, value, "must be above " + at->dump());
    }
    if (const auto at = node.find("exclusiveMaximum"); at != node.end() && value >= *at) {
      add(place, value, "must be below " + at->dump());
    }
  }

  void check_string(const json& value, const json& node, const Place& place) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t length = code_points(text);
    if (const auto at = node.find("minLength"); at != node.end() && length < at->get<std::size_t>()) {
      add(place, value, fmt::format("must have at least {} characters", at->dump()));
    }
    if (const auto at = node.find("maxLength"); at != node.end() && length > at->get<std::size_t>()) {
      add(place, value, fmt::format("must have at most {} characters", at->dump()));
    }
    if (const auto at = node.find("pattern"); at != node.end()) {
      const auto& pattern = at->get_ref<const std::string&>();
      if (!schema_.patterns_.at(pattern).is_found_in(text)) {
        add(place, value, node.value("x-rule", "must match " + pattern));
      }
    }
  }

  void check_array(const json& value, const json& node, const Place& place) {
    if (const auto at = node.find("minItems"); at != node.end() && value.size() < at->get<std::size_t>()) {
      add(place, value, fmt::format("must have at least {} items, has {}", at->dump(), value.size()));
    }
    if (const auto at = node.find("maxItems"); at != node.end() && value.size() > at->get<std::size_t>()) {
      add(place, value, fmt::format("must have at most {} items, has {}", at->dump(), value.size()));
    }
    if (node.value("uniqueItems", false)) {
      // Sorted, not compared pairwise: a hostile list may be long.
      std::vector<const json*> sorted;
      for (const json& item : value) sorted.push_back(&item);
      std::sort(sorted.begin(), sorted.end(), [](const json* left, const json* right) { return *left < *right; });
      const auto twin = std::adjacent_find(sorted.begin(), sorted.end(),
                                           [](const json* left, const json* right) { return *left == *right; });
      if (twin != sorted.end()) add(place, **twin, "is in the list twice");
    }
    const auto items = node.find("items");
    if (items == node.end()) return;
    for (std::size_t i = 0; i < value.size() && !full(); ++i) check(value[i], *items, place.below(std::to_string(i)));
  }

  void check_object(const json& value, const json& node, const Place& place) {
    for (const json& name : node.value("required", json::array())) {
      if (!value.contains(name.get<std::string>())) add(place.below(name), nullptr, "is required and missing");
    }
    static const json kNone = json::object();
    static const json kAny = true;
    const auto at = node.find("properties");
    const json& properties = at == node.end() ? kNone : *at;
    const auto more = node.find("additionalProperties");
    const json& others = more == node.end() ? kAny : *more;
    const auto names = node.find("propertyNames");
    for (const auto& [key, member] : value.items()) {
      if (full()) return;
      if (names != node.end()) check(key, *names, place.below(key));
      const auto known = properties.find(key);
      if (known != properties.end()) {
        check(member, *known, place.below(key));
      } else if (others.is_boolean() && !others.get<bool>()) {
        add_unknown(place.below(key), key, properties);
      } else {
        check(member, others, place.below(key));
      }
    }
  }

  void add_unknown(const Place& place, const std::string& key, const json& properties) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : properties.items()) {
      if (!name.starts_with("$")) names.push_back(name);
    }
    std::string hint = did_you_mean(key, names);
    if (hint.empty()) hint = names.empty() ? " (nothing is known here)" : " (known here: " + join(names) + ")";
    issues_.push_back({place.pointer, "", "unknown name" + hint});
  }

  void check_alternatives(const json& value, const json& node, const Place& place) {
    for (const char* keyword : {"anyOf", "oneOf"}) {
      const auto at = node.find(keyword);
      if (at == node.end()) continue;
      std::size_t fitting = 0;
      std::string first_rule;
      for (const json& alternative : *at) {
        Validation trial(schema_, budget_);
        if (trial.check(value, alternative, {place.pointer, place.secret, place.depth + 1})) {
          ++fitting;
        } else {
          first_rule += (first_rule.empty() ? "" : "; or ") + trial.issues_.front().rule;
        }
      }
      if (fitting == 0) add(place, value, first_rule);
      if (fitting > 1 && std::string_view(keyword) == "oneOf")
        add(place, value, "fits more than one of the allowed forms");
    }
  }

  bool full() const { return issues_.size() >= JsonSchema::kMaxIssues; }

  const JsonSchema& schema_;
  std::size_t& budget_;
  std::vector<SchemaIssue> issues_;
};

std::vector<SchemaIssue> JsonSchema::validate(const json& value) const {
  std::size_t budget = kMaxSteps;
  Validation validation(*this, budget);
  validation.check(value, document_, {});
  auto issues = validation.take();
  if (issues.size() > kMaxIssues) issues.resize(kMaxIssues);
  return issues;
}

}  // namespace exechost::settings

#include "core/settings/json_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/settings/text.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> kTypes{"null", "boolean", "object", "array", "number", "string", "integer"};

bool is_type_name(const json& value) {
  return value.is_string() && std::find(kTypes.begin(), kTypes.end(), value.get<std::string>()) != kTypes.end();
}

bool is_length(const json& value) {
  return value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

std::vector<std::string> type_names() { return {kTypes.begin(), kTypes.end()}; }

}  // namespace

std::string pointer_token(const std::string& key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

std::string describe(const SchemaIssue& issue) {
  std::string text = issue.pointer.empty() ? "the document" : issue.pointer.substr(1);
  if (!issue.value.empty()) text += ": " + issue.value;
  return text + ": " + issue.rule;
}

// Walks a schema once: every keyword known and of the right form, every pattern compiled, every
// $ref pointing at a place that is a schema.
class SchemaCheck {
 public:
  explicit SchemaCheck(JsonSchema& target) : target_(target) {}

  std::optional<SchemaIssue> run() {
    if (!check(target_.document_, "", 0)) return issue_;
    for (const auto& [place, reference] : references_) {
      if (!places_.contains(reference.substr(1))) {
        fail(place + "/$ref", reference, "$ref must name a schema of this document, such as #/$defs/name");
        return issue_;
      }
    }
    return std::nullopt;
  }

 private:
  bool fail(const std::string& pointer, const json& value, std::string rule) {
    issue_ = SchemaIssue{pointer, show_value(value), std::move(rule)};
    return false;
  }

  bool check(const json& node, const std::string& place, int depth) {
    if (depth > JsonSchema::kMaxDepth) return fail(place, nullptr, "the schema nests too deep");
    places_.insert(place);
    if (node.is_boolean()) return true;
    if (!node.is_object()) return fail(place, node, "a schema is an object, true or false");
    for (const auto& [keyword, value] : node.items()) {
      if (!check_keyword(keyword, value, place, depth)) return false;
    }
    return true;
  }

  bool check_keyword(const std::string& keyword, const json& value, const std::string& place, int depth) {
    const std::string here = place + "/" + pointer_token(keyword);
    if (keyword.starts_with("x-")) return check_extension(keyword, value, here);
    if (keyword == "default" || keyword == "const") return true;
    if (keyword == "description" || keyword == "title" || keyword == "$schema") {
      return value.is_string() || fail(here, value, "must be a string");
    }
    if (keyword == "deprecated" || keyword == "uniqueItems") {
      return value.is_boolean() || fail(here, value, "must be true or false");
    }
    if (keyword == "$id") {
      return (value.is_string() && place.empty()) || fail(here, value, "$id is a string and stands only at the root");
    }
    if (keyword == "type") return check_type(value, here);
    if (keyword == "enum") return (value.is_array() && !value.empty()) || fail(here, value, "must be a list of values");
    if (keyword == "required") return check_required(value, here);
    if (keyword == "minimum" || keyword == "maximum" || keyword == "exclusiveMinimum" ||
        keyword == "exclusiveMaximum") {
      return value.is_number() || fail(here, value, "must be a number");
    }
    if (keyword == "minLength" || keyword == "maxLength" || keyword == "minItems" || keyword == "maxItems") {
      return is_length(value) || fail(here, value, "must be a whole number of at least 0");
    }
    if (keyword == "pattern") return check_pattern(value, here);
    if (keyword == "$ref") return check_reference(value, place, here);
    if (keyword == "properties" || keyword == "$defs") return check_members(value, here, depth);
    if (keyword == "additionalProperties" || keyword == "propertyNames" || keyword == "items") {
      return check(value, here, depth + 1);
    }
    if (keyword == "oneOf" || keyword == "anyOf") return check_alternatives(value, here, depth);
    return fail(here, nullptr, "this keyword is not part of the JSON Schema subset that is understood");
  }

  // Ours are read later without a second look at their form; anybody else's are free.
  bool check_extension(const std::string& keyword, const json& value, const std::string& here) {
    if (keyword == "x-secret") return value.is_boolean() || fail(here, value, "must be true or false");
    if (keyword == "x-rule" || keyword == "x-kind" || keyword == "x-project" || keyword == "x-merge") {
      return value.is_string() || fail(here, value, "must be a string");
    }
    if (keyword == "x-env" || keyword == "x-scopes") {
      const json list = value.is_array() ? value : json::array({value});
      for (const json& name : list) {
        if (!name.is_string()) return fail(here, value, "must be a name or a list of names");
      }
    }
    return true;
  }

  bool check_type(const json& value, const std::string& here) {
    const std::string rule = "type is one of " + join(type_names()) + ", or a list of different ones";
    if (is_type_name(value)) return true;
    if (!value.is_array() || value.empty()) return fail(here, value, rule);
    std::set<json> seen;
    for (const json& name : value) {
      if (!is_type_name(name) || !seen.insert(name).second) return fail(here, value, rule);
    }
    return true;
  }

  bool check_required(const json& value, const std::string& here) {
    if (!value.is_array()) return fail(here, value, "must be a list of names");
    for (const json& name : value) {
      if (!name.is_string()) return fail(here, value, "must be a list of names");
    }
    return true;
  }

  bool check_pattern(const json& value, const std::string& here) {
    if (!value.is_string()) return fail(here, value, "must be a string");
    const auto text = value.get<std::string>();
    if (text.size() > JsonSchema::kMaxPattern) return fail(here, value, "a pattern has at most 256 bytes");
    auto pattern = Pattern::compile(text);
    if (!pattern) return fail(here, value, "not a regular expression (or one with backreferences or look-around)");
    target_.patterns_.try_emplace(text, std::move(*pattern));
    return true;
  }

  bool check_reference(const json& value, const std::string& place, const std::string& here) {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    const bool local = text == "#" || text.starts_with("#/");
    if (!local || text.find('%') != std::string::npos) {
      return fail(here, value, "only references into the same document are followed: # or #/...");
    }
    references_.emplace_back(place, text);
    return true;
  }

  bool check_members(const json& value, const std::string& here, int depth) {
    if (!value.is_object()) return fail(here, value, "must be an object of schemas");
    for (const auto& [name, schema] : value.items()) {
      if (!check(schema, here + "/" + pointer_token(name), depth + 1)) return false;
    }
    return true;
  }

  bool check_alternatives(const json& value, const std::string& here, int depth) {
    if (!value.is_array() || value.empty()) return fail(here, value, "must be a list of schemas");
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!check(value[i], here + "/" + std::to_string(i), depth + 1)) return false;
    }
    return true;
  }

  JsonSchema& target_;
  std::set<std::string> places_;
  std::vector<std::pair<std::string, std::string>> references_;
  SchemaIssue issue_;
};

tl::expected<JsonSchema, SchemaIssue> JsonSchema::compile(json document) {
  JsonSchema schema;
  schema.document_ = std::move(document);
  if (auto issue = SchemaCheck(schema).run()) return tl::unexpected(std::move(*issue));
  return schema;
}

const json& JsonSchema::resolved(const json& node) const {
  const json* at = &node;
  for (int hops = 0; hops < kMaxDepth && at->is_object() && at->contains("$ref"); ++hops) {
    at = &document_.at(json::json_pointer((*at)["$ref"].get<std::string>().substr(1)));
  }
  return *at;
}

}  // namespace exechost::settings

// A validator for the part of JSON Schema 2020-12 that ExecHost's own schemas and plugins'
// manifests use. A keyword outside this part is an error in the schema, never ignored:
//
//   type properties required additionalProperties propertyNames enum const
//   minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern
//   items minItems maxItems uniqueItems oneOf anyOf $ref $defs
//   default description title deprecated $schema $id x-*          (not checked against values)
//
// true and false are schemas. `items` is one schema for every item. `pattern` is a
// regular expression of at most 256 bytes without backreferences and look-around (see pattern.hpp).
// `$ref` is "#" or "#/..." and names a schema of the same document. `$id` stands only
// at the root and changes nothing. Lengths count Unicode code points.
//
// Immutable after compile(): const members are safe from any thread.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/settings/pattern.hpp"

namespace exechost::settings {

struct SchemaIssue {
  std::string pointer;  // JSON pointer of the value (or of the place in the schema); "" is the root
  std::string value;    // as shown to a person; "(secret)" below x-secret; empty when it adds nothing
  std::string rule;     // what was broken, with the nearest name for an unknown property

  bool operator==(const SchemaIssue&) const = default;
};

// "resources/pids: 0: must be at least 1"
std::string describe(const SchemaIssue& issue);

class JsonSchema {
 public:
  // Nesting of a schema, and of schema and value together while validating.
  static constexpr int kMaxDepth = 128;
  static constexpr std::size_t kMaxIssues = 16;
  static constexpr std::size_t kMaxSteps = 4'000'000;  // pairs of value and schema that are looked at
  static constexpr std::size_t kMaxPattern = 256;

  // The error is the first thing wrong with the schema.
  static tl::expected<JsonSchema, SchemaIssue> compile(nlohmann::json document);

  // What is wrong with `value`, at most kMaxIssues; empty: valid.
  std::vector<SchemaIssue> validate(const nlohmann::json& value) const;

  const nlohmann::json& document() const { return document_; }
  // The schema at `node` with `$ref` followed (bounded; the node itself when there is none).
  const nlohmann::json& resolved(const nlohmann::json& node) const;

 private:
  friend class SchemaCheck;
  friend class Validation;
  nlohmann::json document_;
  std::map<std::string, Pattern> patterns_;
};

// JSON pointer token: "~" and "/" escaped (RFC 6901).
std::string pointer_token(const std::string& key);

}  // namespace exechost::settings

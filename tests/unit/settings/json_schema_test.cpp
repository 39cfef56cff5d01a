#include "core/settings/json_schema.hpp"

#include <gtest/gtest.h>

#include <string>

namespace exechost::settings {
namespace {

using nlohmann::json;

std::string first_issue(const json& schema, const json& value) {
  const auto compiled = JsonSchema::compile(schema);
  if (!compiled) return "schema: " + describe(compiled.error());
  const auto issues = compiled->validate(value);
  return issues.empty() ? "" : describe(issues.front());
}

TEST(JsonSchema, UnknownKeywordsAreErrors) {
  for (const char* keyword :
       {"allOf", "not", "if", "patternProperties", "format", "multipleOf", "contains", "dependencies", "definitions",
        "additionalItems", "minProperties", "propertys", "$anchor", "X-env"}) {
    const auto compiled = JsonSchema::compile({{"properties", {{"a", {{keyword, true}}}}}});
    ASSERT_FALSE(compiled) << keyword;
    EXPECT_EQ(compiled.error().pointer, "/properties/a/" + std::string(keyword));
    EXPECT_NE(compiled.error().rule.find("not part of"), std::string::npos);
  }
}

TEST(JsonSchema, AnnotationsAndExtensionsAreAccepted) {
  EXPECT_TRUE(JsonSchema::compile({{"$schema", "s"},
                                   {"$id", "i"},
                                   {"title", "t"},
                                   {"description", "d"},
                                   {"deprecated", true},
                                   {"default", 1},
                                   {"x-anything", {1, 2}},
                                   {"x-env", {"A", "B"}},
                                   {"x-secret", true}}));
}

TEST(JsonSchema, KeywordsOfTheWrongFormAreErrors) {
  const json bad[] = {{{"type", "text"}},
                      {{"type", json::array()}},
                      {{"type", {"string", "string"}}},
                      {{"type", 1}},
                      {{"required", "a"}},
                      {{"required", {1}}},
                      {{"enum", json::array()}},
                      {{"enum", "a"}},
                      {{"minimum", "1"}},
                      {{"maxLength", -1}},
                      {{"minItems", 1.5}},
                      {{"uniqueItems", 1}},
                      {{"pattern", "("}},
                      {{"pattern", "(a)\\1"}},
                      {{"pattern", "(?=a)"}},
                      {{"pattern", "(((a{100}){100}){100}){100}"}},
                      {{"pattern", 1}},
                      {{"pattern", std::string(257, 'a')}},
                      {{"properties", {1}}},
                      {{"properties", {{"a", 1}}}},
                      {{"items", {true, false}}},
                      {{"oneOf", json::array()}},
                      {{"anyOf", {{"type", "string"}}}},
                      {{"$ref", "other.json"}},
                      {{"$ref", "#/$defs/none"}},
                      {{"$ref", "#/%41"}},
                      {{"$ref", 1}},
                      {{"properties", {{"a", {{"$id", "x"}}}}}},
                      {{"x-secret", "yes"}},
                      {{"x-env", 3}},
                      {{"x-rule", 1}},
                      json::array(),
                      json("x"),
                      json(nullptr),
                      json(1)};
  for (const json& schema : bad) EXPECT_FALSE(JsonSchema::compile(schema)) << schema;
}

// A reference must lead to a place that was checked as a schema.
TEST(JsonSchema, ReferencesToOtherThingsAreErrors) {
  EXPECT_FALSE(
      JsonSchema::compile({{"enum", {{{"type", "nonsense"}}}}, {"properties", {{"a", {{"$ref", "#/enum/0"}}}}}}));
  EXPECT_FALSE(JsonSchema::compile({{"default", {{"allOf", 1}}}, {"items", {{"$ref", "#/default"}}}}));
  EXPECT_TRUE(
      JsonSchema::compile({{"$defs", {{"a~b/c", {{"type", "string"}}}}}, {"items", {{"$ref", "#/$defs/a~0b~1c"}}}}));
}

TEST(JsonSchema, IssuesNamePlaceValueAndRule) {
  const json schema{
      {"type", "object"},
      {"additionalProperties", false},
      {"properties",
       {{"memory", {{"type", "integer"}, {"minimum", 1}}},
        {"mode", {{"enum", {"none", "filtered", "full"}}}},
        {"list", {{"items", {{"type", "string"}, {"pattern", "^a$"}, {"x-rule", "must be the letter a"}}}}},
        {"key", {{"type", "integer"}, {"x-secret", true}}}}}};
  EXPECT_EQ(first_issue(schema, {{"memory", 0}}), "memory: 0: must be at least 1");
  EXPECT_EQ(first_issue(schema, {{"memroy", 1}}), "memroy: unknown name (did you mean memory?)");
  EXPECT_EQ(first_issue(schema, {{"zzz", 1}}), "zzz: unknown name (known here: key, list, memory, mode)");
  EXPECT_EQ(first_issue(schema, {{"mode", "ful"}}),
            "mode: \"ful\": must be one of none, filtered, full (did you mean full?)");
  EXPECT_EQ(first_issue(schema, {{"list", {"a", "b"}}}), "list/1: \"b\": must be the letter a");
  EXPECT_EQ(first_issue(schema, {{"key", "hunter2"}}), "key: (secret): must be of type integer");
  EXPECT_EQ(first_issue(schema, 7), "the document: 7: must be of type object");
}

TEST(JsonSchema, SecretsBelowASecretPlaceAreHiddenToo) {
  const json schema{{"x-secret", true}, {"items", {{"anyOf", {{{"type", "integer"}}, {{"type", "null"}}}}}}};
  EXPECT_EQ(first_issue(schema, {"hunter2"}), "0: (secret): must be of type integer; or must be of type null");
}

// ECMAScript's $ is the end of the text: a name with a newline after it is another name.
TEST(JsonSchema, PatternsDoNotStopAtANewline) {
  const json schema{{"pattern", "^[a-z]+$"}};
  EXPECT_EQ(first_issue(schema, "abc"), "");
  EXPECT_NE(first_issue(schema, "abc\n"), "");
  EXPECT_NE(first_issue(schema, "abc\ndef"), "");
  EXPECT_NE(first_issue(schema, "A\nabc"), "");
}

TEST(JsonSchema, LongTextsAndPatternsMadeToBacktrackTakeLinearTime) {
  const std::string text(1'000'000, 'a');
  for (const char* pattern : {"^(a|b)*$", "^(a|aa)+$", "^(a*)*$", "^(.*a){8}$"}) {
    const json schema{{"pattern", pattern}};
    EXPECT_EQ(first_issue(schema, text), "") << pattern;
    EXPECT_NE(first_issue(schema, text + "!\n"), "") << pattern;
  }
}
TEST(JsonSchema, APatternSeesCharactersNotBytes) {
  EXPECT_EQ(first_issue({{"pattern", "^.$"}}, "\u00e4"), "");
  EXPECT_EQ(first_issue({{"pattern", "^[\u00e4-\u00fc]$"}}, "\u00f6"), "");
  EXPECT_NE(first_issue({{"pattern", "^a$"}}, "a\n"), "");
}

TEST(JsonSchema, KeywordsBesideAReferenceCount) {
  const json schema{{"$defs", {{"list", {{"type", "array"}}}}},
                    {"properties", {{"a", {{"$ref", "#/$defs/list"}, {"maxItems", 1}}}}}};
  EXPECT_EQ(first_issue(schema, {{"a", {1}}}), "");
  EXPECT_NE(first_issue(schema, {{"a", {1, 2}}}), "");
  EXPECT_NE(first_issue(schema, {{"a", 1}}), "");
}

TEST(JsonSchema, EndlessReferencesEnd) {
  EXPECT_NE(first_issue({{"$ref", "#"}}, 1), "");
  EXPECT_NE(
      first_issue({{"$defs", {{"a", {{"$ref", "#/$defs/b"}}}, {"b", {{"$ref", "#/$defs/a"}}}}}, {"$ref", "#/$defs/a"}},
                  1),
      "");
  // Two ways at each of many levels: the budget of steps ends it.
  EXPECT_NE(first_issue({{"anyOf", {{{"$ref", "#"}}, {{"$ref", "#"}}}}}, 1), "");
}

TEST(JsonSchema, DeepValuesAreRefused) {
  json value = 1;
  for (int i = 0; i < 1000; ++i) value = json::array({std::move(value)});
  EXPECT_NE(first_issue({{"items", {{"$ref", "#"}}}}, value), "");
}

TEST(JsonSchema, DeepSchemasAreRefused) {
  json schema = true;
  for (int i = 0; i < 1000; ++i) schema = json{{"items", std::move(schema)}};
  EXPECT_FALSE(JsonSchema::compile(schema));
}

TEST(JsonSchema, ManyIssuesAreBounded) {
  const auto compiled = JsonSchema::compile({{"items", {{"type", "string"}}}});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->validate(json(std::vector<int>(1000, 1))).size(), JsonSchema::kMaxIssues);
}

TEST(JsonSchema, LongUniqueListsAreFast) {
  const auto compiled = JsonSchema::compile({{"uniqueItems", true}});
  ASSERT_TRUE(compiled);
  json list = json::array();
  for (int i = 0; i < 100'000; ++i) list.push_back(i);
  EXPECT_TRUE(compiled->validate(list).empty());
  list.push_back(77);
  EXPECT_EQ(compiled->validate(list).size(), 1U);
}

TEST(JsonSchema, PointersAreEscaped) {
  EXPECT_EQ(first_issue({{"additionalProperties", {{"type", "null"}}}}, {{"a/b~c", 1}}),
            "a~1b~0c: 1: must be of type null");
}

}  // namespace
}  // namespace exechost::settings

// The official JSON Schema test suite (Debian's json-schema-test-suite, whose newest draft is 7)
// against every keyword our subset accepts. Draft 7 spells $defs as `definitions`: the two are
// exchanged before a group runs. A group is skipped only when its schema uses a keyword that we
// refuse, and every accepted keyword must have had at least one group.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "core/settings/json_schema.hpp"

namespace exechost::settings {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kSuite = "/usr/share/json-schema-test-suite/tests/draft7";

// The files of the keywords we accept, and how many groups of each may be refused.
struct SuiteFile {
  const char* name;
  std::size_t run;      // groups that must run
  std::size_t refused;  // groups that use a keyword outside the subset
};

constexpr SuiteFile kFiles[] = {
    {"type", 8, 0},
    {"properties", 2, 1},  // patternProperties
    {"required", 3, 0},
    {"additionalProperties", 3, 2},  // patternProperties
    {"propertyNames", 3, 0},
    {"enum", 3, 0},
    {"const", 4, 0},
    {"minimum", 1, 0},
    {"maximum", 1, 0},
    {"exclusiveMinimum", 1, 0},
    {"exclusiveMaximum", 1, 0},
    {"minLength", 1, 0},
    {"maxLength", 1, 0},
    {"pattern", 2, 0},
    {"items", 3, 2},  // a list of schemas
    {"minItems", 1, 0},
    {"maxItems", 1, 0},
    {"uniqueItems", 1, 0},
    {"oneOf", 7, 0},
    {"anyOf", 6, 0},
    {"ref", 7, 4},  // a list of schemas, made-up keywords, other documents
    {"default", 2, 0},
    {"boolean_schema", 2, 0},
};

json read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::string all = text.str();
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = all.find(from); at != std::string::npos; at = all.find(from, at + to.size())) {
      all.replace(at, from.size(), to);
    }
  };
  replace("\"definitions\"", "\"$defs\"");
  replace("#/definitions/", "#/$defs/");
  return json::parse(all);
}

// Since 2019-09 keywords beside $ref count; draft 7 ignores them. In this group the answer differs.
bool differs_since_draft_7(const json& group) { return group["description"] == "ref overrides any sibling keywords"; }

void note_keywords(const json& node, std::set<std::string>& keywords) {
  if (node.is_object()) {
    for (const auto& [key, member] : node.items()) {
      keywords.insert(key);
      note_keywords(member, keywords);
    }
  } else if (node.is_array()) {
    for (const json& item : node) note_keywords(item, keywords);
  }
}

class JsonSchemaSuite : public testing::TestWithParam<SuiteFile> {
 protected:
  void SetUp() override {
    if (!fs::exists(kSuite)) GTEST_SKIP() << "Debian's json-schema-test-suite is not installed";
  }
};

TEST_P(JsonSchemaSuite, AgreesWithTheOfficialAnswers) {
  std::size_t run = 0;
  std::size_t refused = 0;
  for (const json& group : read(kSuite / (std::string(GetParam().name) + ".json"))) {
    SCOPED_TRACE(group["description"].get<std::string>());
    const auto schema = JsonSchema::compile(group["schema"]);
    if (!schema) {
      // Refused for the keyword, not because something known was misread.
      EXPECT_TRUE(schema.error().rule.find("not part of") != std::string::npos ||
                  schema.error().rule.find("same document") != std::string::npos ||
                  schema.error().rule.find("only at the root") != std::string::npos ||
                  schema.error().rule.find("a schema is an object") != std::string::npos)
          << describe(schema.error());
      ++refused;
      continue;
    }
    ++run;
    for (const json& test : group["tests"]) {
      bool valid = test["valid"];
      if (differs_since_draft_7(group) && test["description"] == "ref valid, maxItems ignored") valid = false;
      const auto issues = schema->validate(test["data"]);
      EXPECT_EQ(issues.empty(), valid) << test["description"] << ": " << test["data"]
                                       << (issues.empty() ? "" : " " + describe(issues.front()));
    }
  }
  EXPECT_EQ(run, GetParam().run);
  EXPECT_EQ(refused, GetParam().refused);
}

INSTANTIATE_TEST_SUITE_P(Draft7, JsonSchemaSuite, testing::ValuesIn(kFiles),
                         [](const auto& file) { return std::string(file.param.name); });

TEST(JsonSchemaSuiteCoverage, EveryCheckedKeywordHasGroups) {
  if (!fs::exists(kSuite)) GTEST_SKIP() << "Debian's json-schema-test-suite is not installed";
  std::set<std::string> keywords;
  for (const SuiteFile& file : kFiles) {
    for (const json& group : read(kSuite / (std::string(file.name) + ".json"))) {
      if (JsonSchema::compile(group["schema"])) note_keywords(group["schema"], keywords);
    }
  }
  for (const char* keyword :
       {"type",    "properties", "required",         "additionalProperties", "propertyNames", "enum",      "const",
        "minimum", "maximum",    "exclusiveMinimum", "exclusiveMaximum",     "minLength",     "maxLength", "pattern",
        "items",   "minItems",   "maxItems",         "uniqueItems",          "oneOf",         "anyOf",     "$ref",
        "$defs",   "default"}) {
    EXPECT_TRUE(keywords.contains(keyword)) << keyword;
  }
}

}  // namespace
}  // namespace exechost::settings

// What a script may say: schema and plugin agree, and what is refused is named.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "core/settings/json_schema.hpp"
#include "tables.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const settings::JsonSchema& schema() {
  static const auto compiled = settings::JsonSchema::compile(json::parse(contents(EXECHOST_SCRIPT_SCHEMA)));
  return *compiled;
}

using Script = ScriptedTables;

TEST_F(Script, WhatTheSchemaAllowsIsTaken) {
  for (const char* text : {
           R"({})",
           R"({"claims":{"memory":{"grade":"kernel","by":"b","evidence":"e"},"nonsense":{"grade":"best"}}})",
           R"({"rules":[{"at":"open","from":2,"to":3,"delay_ms":5,"stubborn":true,"fail":{"kind":"denied"}}]})",
           R"({"rules":[{"at":"reap","fail":{"kind":"plugin_crashed","phase":"collect","message":"m","hint":"h",
                         "errno":2,"step":"s","code":"c","request_id":"r"}}]})",
           R"({"rules":[{"at":"spawn","per":"environment","status":-7}]})",
           R"({"rules":[{"at":"list","answer":[1]},{"at":"probe","answer":"no JSON"},{"at":"open","throw":"t"}]})",
           R"({"rules":[{"at":"run","after_bytes":0,"end":{"signal":9}},{"at":"run","end":{"wait_status":65535}}]})",
           R"({"rules":[{"at":"run","never":"started","stubborn":true},{"at":"close","crash":false}]})",
       }) {
    const json script = json::parse(text);
    EXPECT_TRUE(schema().validate(script).empty()) << text;
    const auto outcome = create({{"script", script}});
    EXPECT_EQ(outcome.status, EH_OK) << text << describe(outcome.failure);
  }
}

struct Refused {
  const char* script;
  const char* message;
};

// The schema refuses them too.
TEST_F(Script, WhatItDoesNotKnowIsRefusedByName) {
  for (const auto& [text, message] : {
           Refused{R"({"rule":[]})", R"(/: has the unknown member "rule" (known: claims, rules))"},
           Refused{R"({"rules":{}})", "/rules: must be a list"},
           Refused{R"({"rules":[{"at":"open","fial":{}}]})", R"(/rules/0: has the unknown member "fial")"},
           Refused{R"({"rules":[{"fail":{"kind":"denied"}}]})", R"(/rules/0: needs an "at")"},
           Refused{R"({"rules":[{"at":"opne"}]})", R"(/rules/0/at: "opne" is none of create, probe, open)"},
           Refused{R"({"rules":[{"at":"open","fail":{}}]})", R"(/rules/0/fail: needs a "kind")"},
           Refused{R"({"rules":[{"at":"open","fail":{"kind":"sad"}}]})", R"(/rules/0/fail/kind: "sad" is none of)"},
           Refused{R"({"rules":[{"at":"open","fail":{"kind":"denied","error":1}}]})", R"(unknown member "error")"},
           Refused{R"({"rules":[{"at":"open","fail":{"kind":"denied","errno":-1}}]})", "must be a number from 0"},
           Refused{R"({"rules":[{"at":"open","from":0}]})", "/rules/0/from: must be a number from 1"},
           Refused{R"({"rules":[{"at":"open","stubborn":1}]})", "/rules/0/stubborn: must be true or false"},
           Refused{R"({"rules":[{"at":"run","end":{"code":1}}]})", R"(/rules/0/end: has the unknown member "code")"},
           Refused{R"({"rules":[{"at":"run","never":"mind"}]})", R"("mind" is none of started, ended)"},
           Refused{R"({"claims":{"memory":{"graed":"kernel"}}})", R"(/claims/memory: has the unknown member "graed")"},
       }) {
    const json script = json::parse(text);
    EXPECT_FALSE(schema().validate(script).empty()) << text;
    const auto outcome = create({{"script", script}});
    EXPECT_EQ(outcome.status, EH_FAILED) << text;
    EXPECT_EQ(outcome.failure.kind, FailureKind::invalid_request);
    EXPECT_THAT(outcome.failure.message, HasSubstr(message));
  }
}

TEST_F(Script, WhatWouldHaveNoEffectIsRefused) {
  for (const auto& [text, message] : {
           Refused{R"({"rules":[{"at":"open","throw":"t","status":1}]})", "more than one of fail"},
           Refused{R"({"rules":[{"at":"spawn","answer":""}]})", "spawn does not give"},
           Refused{R"({"rules":[{"at":"open","per":"environment"}]})", "open does not happen in an environment"},
           Refused{R"({"rules":[{"at":"spawn","never":"ended"}]})", R"("never" is for run only)"},
           Refused{R"({"rules":[{"at":"run","after_bytes":1}]})", R"(what comes after "after_bytes")"},
           Refused{R"({"rules":[{"at":"run","stubborn":true}]})", R"("stubborn" is for "never")"},
           Refused{R"({"rules":[{"at":"open","from":3,"to":2}]})", R"("from" is above "to")"},
           Refused{R"({"rules":[{"at":"run","end":{}}]})", "needs one of exit_code"},
       }) {
    const auto outcome = create({{"script", json::parse(text)}});
    EXPECT_EQ(outcome.status, EH_FAILED) << text;
    EXPECT_THAT(outcome.failure.message, HasSubstr(message));
  }
}

TEST_F(Script, MayBeAFile) {
  const std::string path = ::testing::TempDir() + "/script-" + std::to_string(::getpid());
  std::ofstream(path) << R"({"rules":[{"at":"create","fail":{"kind":"denied"}}]})";
  EXPECT_EQ(create({{"script_file", path}}).failure.kind, FailureKind::denied);
  EXPECT_THAT(create({{"script_file", path}, {"script", json::object()}}).failure.message, HasSubstr("both"));
  std::ofstream(path) << "{";
  EXPECT_THAT(create({{"script_file", path}}).failure.message, HasSubstr(path + "\" is not JSON"));
  std::ofstream(path) << R"({"ruels":[]})";
  EXPECT_THAT(create({{"script_file", path}}).failure.message, HasSubstr(path + "\": /: has the unknown member"));
  ::unlink(path.c_str());
  const auto missing = create({{"script_file", path}});
  EXPECT_EQ(missing.failure.kind, FailureKind::invalid_request);
  EXPECT_EQ(missing.failure.error_number, ENOENT);
}

// Every example of the page is a script.
TEST_F(Script, ThePagesExamplesAreTaken) {
  std::istringstream page(contents(EXECHOST_SCRIPT_PAGE));
  int examples = 0;
  std::string example;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (inside && line == "```") {
      const json script = json::parse(example);
      EXPECT_TRUE(schema().validate(script).empty()) << example;
      EXPECT_EQ(create({{"script", script}}).status, EH_OK) << example;
      ++examples;
    }
    if (line.rfind("```", 0) == 0) {
      inside = line == "```json";
      example.clear();
    } else if (inside) {
      example += line + '\n';
    }
  }
  EXPECT_GE(examples, 3);
}

}  // namespace
}  // namespace exechost::test

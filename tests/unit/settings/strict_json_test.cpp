#include "core/settings/strict_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace exechost::settings {
namespace {

using namespace std::string_literals;

std::string error_of(const std::string& text, const JsonLimits& limits = {}) {
  const auto parsed = parse_json_strict(text, "file.json", limits);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind, FailureKind::invalid_request);
  EXPECT_TRUE(parsed.error().message.starts_with("file.json: ")) << parsed.error().message;
  return parsed.error().message;
}

TEST(StrictJson, ParsesJson) {
  const auto parsed = parse_json_strict(R"( {"a": [1, -2.5e3, "x\u00e9", true, false, null], "b": {}} )", "here");
  ASSERT_TRUE(parsed);
  EXPECT_EQ((*parsed)["a"][1], -2500.0);
  EXPECT_EQ((*parsed)["a"][2], "x\xC3\xA9");
}

TEST(StrictJson, RefusesWhatIsNotJson) {
  for (const std::string& text : {""s,
                                  " "s,
                                  "{"s,
                                  "{} {}"s,
                                  "{},"s,
                                  "{\"a\":1,}"s,
                                  "[1,]"s,
                                  "// c\n{}"s,
                                  "/* c */ {}"s,
                                  "{'a':1}"s,
                                  "{a:1}"s,
                                  "NaN"s,
                                  "Infinity"s,
                                  "01"s,
                                  "+1"s,
                                  ".5"s,
                                  "1."s,
                                  "0x1"s,
                                  "\"\x01\""s,
                                  "\"\xFF\""s,
                                  "\"\xED\xA0\x80\""s,
                                  "\"\\ud800\""s,
                                  "\"\\x\""s,
                                  "{\"a\"}"s,
                                  "{\"a\":}"s,
                                  "nul"s,
                                  "truee"s,
                                  "{}\0"s,
                                  "\0{}"s,
                                  "1e999"s,
                                  "-1e999"s}) {
    EXPECT_NE(error_of(text), "") << testing::PrintToString(text);
  }
}

TEST(StrictJson, SaysWhere) {
  EXPECT_TRUE(error_of("{\n  \"a\": 1,\n  \"b\": oops\n}").starts_with("file.json: line 3, column 8: "))
      << error_of("{\n  \"a\": 1,\n  \"b\": oops\n}");
}

TEST(StrictJson, RefusesTheSameKeyTwice) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"a\": 2}"),
            "file.json: line 2, column 4: the key \"a\" is there twice in one object");
  EXPECT_NE(error_of(R"({"x": {"a": 1, "b": [{"c": 1}], "a": 2}})"), "");
  EXPECT_NE(error_of(R"([{"c": {"d": 1}, "c": 1}])"), "");
  EXPECT_NE(error_of(R"({"a": 1, "\u0061": 2})"), "");
  // The same key in different objects is fine.
  EXPECT_EQ(error_of(R"({"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 2}], "c": {"a": 1}})"), "");
}

TEST(StrictJson, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(error_of(nested(64)), "");
  EXPECT_EQ(error_of(nested(65)), "file.json: line 1, column 65: objects and arrays nest at most 64 deep");
  EXPECT_NE(error_of(std::string(500'000, '[')), "");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_NE(error_of(objects), "");
}

TEST(StrictJson, RefusesTooMuch) {
  const std::string fits = '"' + std::string(1024 * 1024 - 2, 'x') + '"';
  EXPECT_EQ(error_of(fits), "");
  EXPECT_NE(error_of(fits + " "), "");
  EXPECT_EQ(error_of("[1, 2]", {.max_bytes = 5}), "file.json: 6 bytes of JSON; at most 5 are read");
}

TEST(StrictJson, NeverQuotesValues) {
  for (const char* text : {R"({"password": "hunter2)", R"({"password": "hunter2" "x"})", R"(["hunter2", hunter2])"}) {
    EXPECT_EQ(error_of(text).find("hunter2"), std::string::npos) << error_of(text);
  }
}

}  // namespace
}  // namespace exechost::settings

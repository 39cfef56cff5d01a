// json_string against a whole JSON library.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exechost/backend.hpp"

namespace exechost::sdk {
namespace {

using nlohmann::json;

// Every kind of value stands before the string, so that all of them are passed over.
json document(const std::string& text) {
  return {{"a", {{"b", {1, -2.5e3, true, false, nullptr, json::array(), json::object(), "]}\\\"", {{"init", "no"}}}}}},
          {"init", {{"list", {"source", ":"}}, {"source", text}}},
          {"z", 1}};
}

TEST(JsonString, FindsAStringAmongEverythingElse) {
  for (const int indent : {-1, 2}) {
    const std::string text = document("/usr/libexec/guest").dump(indent);
    EXPECT_EQ(json_string(text, {"init", "source"}), "/usr/libexec/guest");
    EXPECT_EQ(json_string(text, {"z"}), std::nullopt) << "a number is no string";
    EXPECT_EQ(json_string(text, {"init"}), std::nullopt) << "an object is no string";
    EXPECT_EQ(json_string(text, {"init", "source", "x"}), std::nullopt);
    EXPECT_EQ(json_string(text, {"source"}), std::nullopt) << "it is deeper";
    EXPECT_EQ(json_string(text, {"missing"}), std::nullopt);
  }
  EXPECT_EQ(json_string(R"({"init":null})", {"init", "source"}), std::nullopt);
  EXPECT_EQ(json_string(R"("alone")", {}), "alone");
  EXPECT_EQ(json_string("{}", {"init"}), std::nullopt);
}

TEST(JsonString, GivesBackWhatWasWritten) {
  std::string text;
  for (char c = 1; c < 127; ++c) text += c;
  for (const std::string& value : {text, std::string("\0", 1), std::string("\u00e4\u20ac\U0001f600\u07ff\uffff"),
                                   std::string(), std::string(R"(\u0041)")}) {
    EXPECT_EQ(json_string(document(value).dump(), {"init", "source"}), value);
    EXPECT_EQ(json_string(document(value).dump(-1, ' ', true), {"init", "source"}), value) << "with \\u escapes";
  }
  EXPECT_EQ(json_string(R"(["\/"])", {}), std::nullopt);
  EXPECT_EQ(json_string(R"("\/\u00E4")", {}), "/\u00e4");
  EXPECT_EQ(json_quote("a\"b\\c\n"), R"("a\"b\\c\u000a")");
  EXPECT_EQ(json_string(json_quote(text), {}), text);
}

TEST(JsonString, NoPrefixOfADocumentGivesAWrongString) {
  const std::string text = document("/usr/libexec/\u20ac\n").dump(-1, ' ', true);
  for (std::size_t length = 0; length < text.size(); ++length) {
    // On the heap and of exactly this size, so that a sanitizer sees a step too far.
    const std::vector<char> prefix(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
    const auto found = json_string(std::string_view(prefix.data(), prefix.size()), {"init", "source"});
    EXPECT_TRUE(!found || *found == "/usr/libexec/\u20ac\n") << length;
  }
}

class NoString : public testing::TestWithParam<const char*> {};
TEST_P(NoString, IsNothing) { EXPECT_EQ(json_string(GetParam(), {"a"}), std::nullopt); }
INSTANTIATE_TEST_SUITE_P(Broken, NoString,
                         testing::Values("", "{", "[", "{\"a", "{\"a\"", "{\"a\":", "{\"a\" \"b\"}", "{\"x\":]}",
                                         "{\"x\":,\"a\":\"b\"}", "{\"x\":[[[", "{\"x\":}", "{\"a\":\"\\x\"}",
                                         "{\"a\":\"\\", "{\"a\":\"\\u12\"}", "{\"a\":\"\\u12g4\"}",
                                         "{\"a\":\"\\ud800\"}", "{\"a\":\"\\ud800\\u0041\"}", "{\"a\":\"\\udc00\"}",
                                         "{\"a\":\"\n\"}", "[{\"a\":\"b\"}]", "{'a':'b'}"));

TEST(JsonString, DepthCostsNothing) {
  const std::string deep = "{\"x\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + ",\"a\":\"b\"}";
  EXPECT_EQ(json_string(deep, {"a"}), "b");
}

}  // namespace
}  // namespace exechost::sdk

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"

namespace exechost::settings::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Settings sample() {
  return resolved({.user = {{"resources", {{"memory", "512m"}, {"timeout", "90s"}}},
                            {"environment", {{"set", {{"TOKEN", "hunter2"}}}}}},
                   .environment = {{"TERMINAL_SESSION", "s"}},
                   .request = {{"image", "a\xE2\x80\xAE"}},  // NOLINT(misc-misleading-bidirectional): it has to mislead
                   .request_sources = {{"/image", "--image"}}});
}

TEST(ShowOrigin, OneLineForEachLeaf) {
  const std::string text = show_origin(sample());
  EXPECT_THAT(text, testing::ContainsRegex("resources.memory +512MiB +user: user.json\n"));
  EXPECT_THAT(text, testing::ContainsRegex("resources.timeout +90s +user: user.json\n"));
  EXPECT_THAT(text, testing::ContainsRegex("resources.cpu +none +built-in\n"));
  EXPECT_THAT(text, testing::ContainsRegex("resources.kill_grace +2s +built-in\n"));
  EXPECT_THAT(text, testing::ContainsRegex("session.name +\"s\" +environment: TERMINAL_SESSION\n"));
  EXPECT_THAT(text, testing::ContainsRegex("image +\"a.u.202e.\" +request: --image\n"));
  EXPECT_THAT(text, testing::ContainsRegex("environment.set.TOKEN +.secret. +user: user.json\n"));
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
}

TEST(ShowOrigin, ColumnsAreAligned) {
  const std::string text = show_origin(resolved({}));
  std::size_t column = 0;
  std::size_t lines = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    const std::size_t name = line.find("  ");
    const std::size_t value = line.find_first_not_of(' ', name);
    if (column == 0) column = value;
    EXPECT_EQ(value, column) << line;
    EXPECT_TRUE(line.ends_with("built-in")) << line;
    begin = end + 1;
    ++lines;
  }
  EXPECT_GT(lines, 40U);
}

TEST(ShowOrigin, WarningsComeLast) {
  EXPECT_THAT(show_origin(resolved({.environment = {{"TERMINAL_TIMOUT", "1"}}})),
              HasSubstr("\nwarning: TERMINAL_TIMOUT is not"));
}

TEST(OriginsJson, SameAsData) {
  const json list = origins_json(sample());
  EXPECT_THAT(list,
              testing::Contains(json(
                  {{"name", "resources.memory"}, {"value", 536870912}, {"scope", "user"}, {"source", "user.json"}})));
  EXPECT_THAT(list, testing::Contains(json({{"name", "environment.set.TOKEN"},
                                            {"value", nullptr},
                                            {"secret", true},
                                            {"scope", "user"},
                                            {"source", "user.json"}})));
  EXPECT_EQ(list.dump().find("hunter2"), std::string::npos);
}

TEST(Scopes, HaveNames) {
  EXPECT_EQ(to_string(Scope::built_in), "built-in");
  EXPECT_EQ(to_string(Scope::managed), "managed");
}

}  // namespace
}  // namespace exechost::settings::test

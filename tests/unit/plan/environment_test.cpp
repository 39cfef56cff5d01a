#include "core/plan/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

class EnvironmentTest : public ::testing::Test {
 protected:
  SettingsBuilder settings_;
  Request request_;
  Facts facts_;

  EnvironmentTest() {
    facts_.environment = {{"PATH", "/usr/bin:.::rel/bin:/bin"},
                          {"HOME", "/home/u"},
                          {"LANG", "de_DE.UTF-8"},
                          {"LC_TIME", "C"},
                          {"TMPDIR", "/home/u/t"},
                          {"TEMP", "/x"},
                          {"TERM", "xterm"},
                          {"API_KEY", "k"},
                          {"github_token", "t"},
                          {"SSH_AUTH_SOCK", "/s"},
                          {"EDITOR", "vi"},
                          {"DATABASE_URL", "postgres://u:p@h/d"},
                          {"CI", "true"}};
  }
  Variables build() {
    auto built = build_environment(settings_.build(), request_, facts_, "/home/u", "/ws");
    EXPECT_TRUE(built) << (built ? "" : built.error().message);
    return built ? built->variables : Variables{};
  }
};

TEST_F(EnvironmentTest, P29_Core) {
  EXPECT_EQ(build(), (Variables{{"PATH", "/usr/bin:/bin"},
                                {"HOME", "/home/u"},
                                {"LANG", "de_DE.UTF-8"},
                                {"LC_TIME", "C"},
                                {"TMPDIR", "/tmp"},
                                {"TEMP", "/tmp"},
                                {"TERM", "xterm"},
                                {"PWD", "/ws"}}));
}
TEST_F(EnvironmentTest, P29_None) {
  settings_.set("environment.inherit", "none");
  EXPECT_TRUE(build().empty());
  settings_.set("environment.set", {{"A", "1"}});
  request_.env = {{"B", "2"}};
  EXPECT_EQ(build(), (Variables{{"A", "1"}, {"B", "2"}}));
}
TEST_F(EnvironmentTest, P29_All) {
  settings_.set("environment.inherit", "all");
  const Variables all = build();
  EXPECT_EQ(all.at("EDITOR"), "vi");
  EXPECT_EQ(all.at("DATABASE_URL"), "postgres://u:p@h/d");
  for (const char* secret : {"API_KEY", "github_token", "SSH_AUTH_SOCK"}) EXPECT_FALSE(all.contains(secret)) << secret;
}
TEST_F(EnvironmentTest, P29_Include) {
  settings_.set("environment.include", {"ED?TOR", "api_*"});
  EXPECT_EQ(build().at("EDITOR"), "vi");
  EXPECT_FALSE(build().contains("API_KEY")) << "a pattern of secrets wins over include";
}
TEST_F(EnvironmentTest, AnAuthorIsNoSecret) {
  facts_.environment["GIT_AUTHOR_NAME"] = "somebody";
  facts_.environment["NPM_CONFIG__AUTH"] = facts_.environment["BASIC_AUTH_LINE"] = facts_.environment["BASICAUTH"] =
      "s";
  facts_.environment["HTTP_AUTHORIZATION"] = "s";
  settings_.set("environment.inherit", "all");
  EXPECT_EQ(build().at("GIT_AUTHOR_NAME"), "somebody");
  for (const char* secret : {"NPM_CONFIG__AUTH", "BASIC_AUTH_LINE", "BASICAUTH", "HTTP_AUTHORIZATION"}) {
    EXPECT_FALSE(build().contains(secret)) << secret;
  }
}
TEST_F(EnvironmentTest, P29_Exclude) {
  settings_.set("environment.inherit", "all").set("environment.exclude", {"*URL", "c?"});
  EXPECT_FALSE(build().contains("DATABASE_URL"));
  EXPECT_FALSE(build().contains("CI"));
  EXPECT_FALSE(build().contains("API_KEY")) << "the built-in patterns stay";
}
TEST_F(EnvironmentTest, P29_SetComesBeforeIncludeOnly) {
  settings_.set("environment.set", {{"KEPT", "1"}, {"LOST", "2"}, {"MY_TOKEN", "3"}})
      .set("environment.include_only", {"PATH", "KEPT", "MY_*"});
  EXPECT_EQ(build(), (Variables{{"PATH", "/usr/bin:/bin"}, {"KEPT", "1"}, {"MY_TOKEN", "3"}}));
}
TEST_F(EnvironmentTest, WhatIsSetByNameIsPassedThoughItLooksSecret) {
  request_.env = {{"API_KEY", "given"}};
  EXPECT_EQ(build().at("API_KEY"), "given");
}
TEST_F(EnvironmentTest, RequestWinsOverSet) {
  settings_.set("environment.set", {{"A", "settings"}});
  request_.env = {{"A", "request"}, {"HOME", "/elsewhere"}};
  EXPECT_EQ(build().at("A"), "request");
  EXPECT_EQ(build().at("HOME"), "/elsewhere");
}
TEST_F(EnvironmentTest, KeepingSecretsIsDangerousAndLeavesOtherExcludes) {
  settings_.set("environment.inherit", "all").set("environment.dangerously_keep_secrets", true);
  settings_.set("environment.exclude", {"*KEY*", "*TOKEN*", "EDITOR"});
  EXPECT_EQ(build().at("API_KEY"), "k");
  EXPECT_FALSE(build().contains("EDITOR"));
}
TEST_F(EnvironmentTest, PathAlwaysHasAbsoluteEntries) {
  facts_.environment["PATH"] = ".:bin:";
  EXPECT_THAT(build().at("PATH"), HasSubstr("/usr/bin"));
  EXPECT_THAT(build().at("PATH"), Not(HasSubstr(".")));
  facts_.environment.erase("PATH");
  EXPECT_THAT(build().at("PATH"), HasSubstr("/usr/bin"));
}
TEST_F(EnvironmentTest, WithheldNamesAreToldWithoutValues) {
  const auto built = build_environment(settings_.build(), request_, facts_, "/home/u", "/ws");
  ASSERT_TRUE(built);
  EXPECT_THAT(built->withheld,
              ::testing::ElementsAre("API_KEY", "CI", "DATABASE_URL", "EDITOR", "SSH_AUTH_SOCK", "github_token"));
}
TEST_F(EnvironmentTest, ValuesAreRawBytes) {
  request_.env = {{"BYTES", "\xff\n\x01"}};
  EXPECT_EQ(build().at("BYTES"), "\xff\n\x01");
}
TEST_F(EnvironmentTest, BadNamesAndValuesAreRefused) {
  using namespace std::string_literals;
  for (const auto& [name, value] : Variables{{"", "x"}, {"A=B", "x"}, {"A\0B"s, "x"}, {"NUL", "a\0b"s}}) {
    request_.env = {{name, value}};
    const auto built = build_environment(settings_.build(), request_, facts_, "/home/u", "/ws");
    ASSERT_FALSE(built) << name;
    EXPECT_EQ(built.error().kind, FailureKind::invalid_request);
    EXPECT_THAT(built.error().message, Not(HasSubstr(value.empty() ? "?" : "a\0b"s))) << "no value in a message";
  }
}

struct Pattern {
  const char* name;
  const char* pattern;
  bool matches;
};
TEST(Patterns, MatchLikeTheTable) {
  for (const Pattern& row :
       {Pattern{"API_KEY", "*KEY*", true}, Pattern{"api_key", "*KEY*", true}, Pattern{"KEY", "*KEY*", true},
        Pattern{"KE", "*KEY*", false}, Pattern{"ABC", "A?C", true}, Pattern{"AC", "A?C", false}, Pattern{"", "*", true},
        Pattern{"", "", true}, Pattern{"A", "", false}, Pattern{"ABCBD", "A*B?", true},
        Pattern{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAB", "A*A*A*A*A*A*A*C", false}, Pattern{"X", "x**", true}}) {
    EXPECT_EQ(matches_pattern(row.name, row.pattern), row.matches) << row.name << " " << row.pattern;
  }
}

TEST(Shown, OnlyValuesThatAreKnownToHoldNoSecret) {
  for (const char* name : {"PATH", "HOME", "LANG", "LC_TIME", "PWD", "TERM"}) EXPECT_TRUE(may_be_shown(name)) << name;
  for (const char* name : {"API_KEY", "DATABASE_URL", "http_proxy", "LC_SECRET", "MY"})
    EXPECT_FALSE(may_be_shown(name)) << name;
}

}  // namespace
}  // namespace exechost::plan::testing

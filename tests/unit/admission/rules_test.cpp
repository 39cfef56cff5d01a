// From the settings to the rules: the same words, the same origins, and the strictest for the unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/admission/rules.hpp"

namespace exechost::admission {
namespace {

using nlohmann::json;

settings::Settings settings_of(json node) {
  return settings::Settings({{"admission", {{"node", std::move(node)}}}},
                            {{"admission.node.security", {settings::Scope::user, "/home/u/settings.json"}}}, {});
}

TEST(Rules, SayWhatTheSettingsSay) {
  const TierRules rules =
      rules_from(settings_of({{"security", "full"}, {"ask", "off"}, {"allow", {{"ls", "-l"}, {"make"}}}})).node;
  EXPECT_EQ(rules.security, Security::full);
  EXPECT_EQ(rules.ask, Ask::off);
  EXPECT_THAT(rules.allow,
              testing::ElementsAre(std::vector<std::string>{"ls", "-l"}, std::vector<std::string>{"make"}));
  EXPECT_EQ(rules.security_origin, "/home/u/settings.json");
}

TEST(Rules, WhatIsMissingOrUnknownIsStrict) {
  for (const json& node : {json::object(), json{{"security", "loose"}, {"ask", "maybe"}, {"allow", "ls"}}}) {
    const TierRules rules = rules_from(settings_of(node)).node;
    EXPECT_EQ(rules.security, Security::deny);
    EXPECT_EQ(rules.ask, Ask::always);
    EXPECT_TRUE(rules.allow.empty());
  }
}

}  // namespace
}  // namespace exechost::admission

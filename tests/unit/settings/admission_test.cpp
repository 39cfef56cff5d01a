// Who may loosen what decides whether a person is asked: the system's, the user's and the managed
// settings, never a project, a profile, a variable or a request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"

namespace exechost::settings::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json node(const char* security, const char* ask) {
  return {{"admission", {{"node", {{"security", security}, {"ask", ask}}}}}};
}

TEST(AdmissionSettings, AskAboutWhatIsNotAllowedUnlessSaidOtherwise) {
  const Settings settings = resolved({});
  EXPECT_EQ(settings.at("admission.node.security"), "allowlist");
  EXPECT_EQ(settings.at("admission.node.ask"), "on_miss");
  EXPECT_EQ(settings.at("admission.node.allow"), json::array());
}

TEST(AdmissionSettings, SystemUserAndManagedMayGiveFullWithoutAsking) {
  for (const Case& given :
       {Case{.system = node("full", "off")}, Case{.user = node("full", "off")}, Case{.managed = node("full", "off")}}) {
    const Settings settings = resolved(given);
    EXPECT_EQ(settings.at("admission.node.security"), "full");
    EXPECT_EQ(settings.at("admission.node.ask"), "off");
  }
}

struct Attempt {
  const char* name;
  json user;
  json request;
  bool refused;
};
class AdmissionRequest : public testing::TestWithParam<Attempt> {};

TEST_P(AdmissionRequest, OnlyTightens) {
  const Attempt& attempt = GetParam();
  const Case given{.user = attempt.user, .request = attempt.request, .request_sources = {{"/admission/node", "--set"}}};
  const std::string message = failure_of(given);
  if (attempt.refused) {
    EXPECT_THAT(message, HasSubstr("--set: admission.node."));
    EXPECT_THAT(message, HasSubstr("a request may only"));
  } else {
    EXPECT_EQ(message, "");
  }
}

json listed(json commands) { return at("admission.node.allow", std::move(commands)); }
const json kLs = json::array({json::array({"ls"})});
const json kLsAndRm = json::array({json::array({"ls"}), json::array({"rm", "x"})});

INSTANTIATE_TEST_SUITE_P(
    Settings, AdmissionRequest,
    testing::Values(Attempt{"full", nullptr, at("admission.node.security", "full"), true},
                    Attempt{"off", nullptr, at("admission.node.ask", "off"), true},
                    Attempt{"full_and_off", nullptr, node("full", "off"), true},
                    Attempt{"deny", nullptr, at("admission.node.security", "deny"), false},
                    Attempt{"always", nullptr, at("admission.node.ask", "always"), false},
                    Attempt{"the_same", nullptr, node("allowlist", "on_miss"), false},
                    Attempt{"back_from_full", node("full", "off"), node("allowlist", "on_miss"), false},
                    Attempt{"full_where_it_is", node("full", "off"), node("full", "off"), false},
                    Attempt{"off_under_always", node("full", "always"), at("admission.node.ask", "off"), true},
                    Attempt{"a_new_command", listed(kLs), listed(kLsAndRm), true},
                    Attempt{"fewer_commands", listed(kLsAndRm), listed(kLs), false}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(AdmissionSettings, NoProfileSetsThem) {
  EXPECT_THAT(failure_of({.user = at("profiles.mine", node("full", "off"))}),
              HasSubstr("a profile can't set admission"));
}

TEST(AdmissionSettings, ManagedDecidesOverEverybody) {
  const Settings settings = resolved({.user = node("full", "off"), .managed = node("deny", "always")});
  EXPECT_EQ(settings.at("admission.node.security"), "deny");
  EXPECT_EQ(settings.at("admission.node.ask"), "always");
}

TEST(AdmissionSettings, ACommandIsAListOfWords) {
  for (const json& wrong :
       {json("ls"), json::array({"ls"}), json::array({json::array()}), json::array({json::array({1})})}) {
    EXPECT_THAT(failure_of({.user = listed(wrong)}), HasSubstr("user.json: admission.node.allow")) << wrong;
  }
}

}  // namespace
}  // namespace exechost::settings::test

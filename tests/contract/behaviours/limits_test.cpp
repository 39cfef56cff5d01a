// Limits: enforced, and the result says by what; or refused by name.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/contract/behaviours/place.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class Limits : public InEachPlace {
 protected:
  Request limited(const std::string& name, const json& value, bool best_effort, const std::string& text) const {
    json settings{{"resources", {{name, value}}}};
    if (best_effort) settings["best_effort"] = {"resources." + name};
    Request request = shell_request(text);
    request.settings_json = settings.dump();
    return placed(request);
  }
  static SettingReport report_of(const ExecResult& result, const std::string& name) {
    const auto found = std::find_if(result.settings.begin(), result.settings.end(),
                                    [&](const SettingReport& report) { return report.name == name; });
    if (found != result.settings.end()) return *found;
    ADD_FAILURE() << "no " << name << " in " << result.to_json();
    return {};
  }
};
INSTANTIATE_TEST_SUITE_P(In, Limits, ::testing::Values(Where::alone, Where::session, Where::node), place_name);

// Elsewhere: one look that takes too long removes every limit for as long as the program runs; some backends ignore
// some limits without a word, and half a processor becomes none.
TEST_P(Limits, OneThatIsAskedForHoldsAndIsReportedOrIsRefusedByName) {
  const std::tuple<const char*, json, const char*> rows[] = {
      {"memory", "64m", "67108864"}, {"cpu", 0.5, "0.5"},           {"disk", "100m", "104857600"}, {"pids", 32, "32"},
      {"tmp_size", "4m", "4194304"}, {"home_size", "4m", "4194304"}};
  for (const auto& [name, value, in_force] : rows) {
    const std::string setting = std::string("resources.") + name;
    const ExecResult strict = host().run(limited(name, value, false, "touch ran"));
    const ExecResult lenient = host().run(limited(name, value, true, "true"));
    EXPECT_EQ(lenient.exit_code, 0) << why(lenient);
    const SettingReport report = report_of(lenient, setting);
    if (strict.failure) {
      EXPECT_EQ(strict.failure->kind, FailureKind::unsupported) << describe(*strict.failure);
      EXPECT_EQ(strict.started, Started::no);
      EXPECT_THAT(describe(*strict.failure), HasSubstr(setting));
      EXPECT_FALSE(std::filesystem::exists(path("ran"))) << setting;
      EXPECT_THAT(report.grade, AnyOf("unsupported", "advisory")) << setting;
      EXPECT_THAT(lenient.warnings, Contains(HasSubstr(setting)));
    } else {
      EXPECT_TRUE(std::filesystem::remove(path("ran"))) << setting;
      EXPECT_EQ(report.effective, in_force) << setting;
      EXPECT_THAT(report.grade, AnyOf("kernel", "provider", "emulated")) << setting;
      EXPECT_FALSE(report.enforced_by.empty()) << setting;
    }
  }
}

TEST_P(Limits, OneThatMeansNothingIsRefused) {
  const std::pair<const char*, json> rows[] = {{"memory", "0"},   {"memory", "lots"}, {"cpu", 0},
                                               {"cpu", -1},       {"cpu", "nan"},     {"pids", 0},
                                               {"tmp_size", "0"}, {"timeout", "0s"},  {"timeout", "-1s"}};
  for (const auto& [name, value] : rows) {
    const ExecResult result = host().run(limited(name, value, true, "touch ran"));
    ASSERT_TRUE(result.failure) << name << value;
    EXPECT_EQ(result.failure->kind, FailureKind::invalid_request) << describe(*result.failure);
    EXPECT_THAT(result.failure->message, HasSubstr(std::string("resources.") + name));
  }
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

class LimitsOfASandbox : public Limits {};
INSTANTIATE_TEST_SUITE_P(In, LimitsOfASandbox, ::testing::Values(Where::alone, Where::session), place_name);

TEST_P(LimitsOfASandbox, ThePrivateFoldersAreAsLargeAsSaid) {
  const ExecResult result = host().run(limited("tmp_size", "4m", false, "head -c 8000000 /dev/zero > /tmp/large"));
  EXPECT_NE(result.exit_code, 0) << why(result);
  EXPECT_THAT(result.err.data, HasSubstr("No space left on device"));
}

// The kernel does not hold root to it; the result says so.
TEST(LimitOfProcesses, HoldsForAnOrdinaryUser) {
  std::string why_not;
  const auto scene = Scene::make("user", Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  const ProgramEnd end =
      scene->run({"run", "--set", "resources.pids=16", "--shell",
                  "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 1000 & done; echo all"});
  EXPECT_NE(end.exit_status(), 0);
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(end.err, HasSubstr("fork"));
  EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
}

}  // namespace
}  // namespace exechost::test

// The conformance kit with a guest that is reached over frames: nothing that the backend promises may get weaker.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class StreamKit : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(As, StreamKit, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(StreamKit, HoldsWhatItClaims) {
  std::string why_not;
  const auto scene = Scene::make(GetParam(), Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  const ProgramEnd end = run_program(scene->cli({"conformance", EXECHOST_STREAMED_FOLDER "/streamed.so", "--json"}),
                                     std::chrono::seconds(240));
  const json report = json::parse(end.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << end.out << end.err;
  EXPECT_EQ(report.at("failed"), 0) << report.dump(1);
  EXPECT_EQ(report.at("level"), 4);
  EXPECT_GT(report.at("passed").get<int>(), 40);
  EXPECT_EQ(end.exit_status(), 0);
  for (const json& check : report.at("checks")) {
    // What is left out is what it does not claim, and nothing else.
    if (check.at("result") == "unchecked") {
      EXPECT_THAT(check.at("why").get<std::string>(), HasSubstr(" claimed")) << check.dump(1);
    }
  }
}

}  // namespace
}  // namespace exechost::test

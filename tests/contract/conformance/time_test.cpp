// After a timeout nothing of the command is left, however it tried to outlive it.
#include "tests/support/heartbeat.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

class Timeout : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Timeout, KillsTheWholeTree) {
  const auto [user, how] = GetParam();
  std::string why_not;
  const auto scene = Scene::make(user, Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  const std::string probe = scene->install_probe();
  const std::string beat = scene->workspace() + "/beat";
  scene->file("ws/beat", "");

  const ProgramEnd end = scene->run({"run", "--timeout", "700ms", "--", probe, "outlive", how, beat});

  EXPECT_EQ(end.exit_status(), 124) << end.err;
  EXPECT_EQ(end.out, "up\n");
  EXPECT_LT(end.duration.count(), 5000);
  EXPECT_GT(read_file(beat).size(), 5u);  // it did run
  EXPECT_FALSE(still_written(beat, std::chrono::milliseconds(200)));
  EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
}

TEST_P(Timeout, EndOfTheMainProcessEndsTheRest) {
  const auto [user, how] = GetParam();
  std::string why_not;
  const auto scene = Scene::make(user, Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  const std::string probe = scene->install_probe();
  const std::string beat = scene->workspace() + "/beat";
  scene->file("ws/beat", "");

  // The main process ends as soon as the heart beats.
  const ProgramEnd end = scene->run(
      {"run", "--shell",
       probe + " outlive " + how + " " + beat + " & while ! test -s " + beat + "; do sleep 0.01; done; exit 5"});

  EXPECT_EQ(end.exit_status(), 5) << end.err;
  EXPECT_LT(end.duration.count(), 10000);
  EXPECT_FALSE(still_written(beat, std::chrono::milliseconds(200)));
  EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Timeout,
    ::testing::Combine(::testing::Values("root", "user"),
                       ::testing::Values("plain", "setsid", "double_fork", "nohup", "own_group", "ignores_signals")),
    [](const auto& tested) { return std::string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param); });

}  // namespace
}  // namespace exechost::test

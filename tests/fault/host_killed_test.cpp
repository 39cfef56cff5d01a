// The command line is killed, at any instant: within a second nothing of it is left, and the
// record of what it made is not held by anybody.
#include <gmock/gmock.h>

#include <csignal>

#include "tests/support/ledger_files.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

class HostKilled : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    probe_ = scene_->install_probe();
  }

  void expect_nothing_left(const Program& program) const {
    const auto left = program.remaining(std::chrono::seconds(1));
    EXPECT_TRUE(left.empty()) << to_text(left);
    EXPECT_EQ(held_entries(*scene_), std::vector<std::string>{});
  }

  std::unique_ptr<Scene> scene_;
  std::string probe_;
};

TEST_P(HostKilled, WhileTheCommandRuns) {
  for (const char* how : {"plain", "double_fork", "ignores_signals"}) {
    Program program(scene_->cli({"run", "--", probe_, "outlive", how, scene_->workspace() + "/beat"}));
    ASSERT_TRUE(program.wait_for_output("up\n"));
    EXPECT_FALSE(held_entries(*scene_).empty());  // the record is there while it runs
    program.signal(SIGKILL);
    EXPECT_EQ(program.finish().exit_status(), 137);
    expect_nothing_left(program);
  }
  EXPECT_EQ(scene_->run({"run", "--", "true"}).exit_status(), 0);
}

TEST_P(HostKilled, AtAnyInstant) {
  for (int after = 0; after <= 75; after += 5) {
    Program program(scene_->cli({"run", "--", probe_, "outlive", "double_fork", scene_->workspace() + "/beat"}));
    program.finish(std::chrono::milliseconds(after));  // kills it when the time is up
    expect_nothing_left(program);
  }
  EXPECT_EQ(scene_->run({"run", "--", "true"}).exit_status(), 0);
}

INSTANTIATE_TEST_SUITE_P(As, HostKilled, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test

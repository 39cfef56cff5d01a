// `exechost doctor` that is interrupted in the middle of what it tries.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "tests/support/left_below.hpp"
#include "tests/support/made.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

class Doctor : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(As, Doctor, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Doctor, InterruptedItLeavesNothing) {
  std::string why_not;
  const auto scene = Scene::make(GetParam(), Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  scene->folder("out/tmp");
  ProgramOptions options = scene->cli({"doctor"});
  const std::string folder = scene->outside() + "/tmp";
  options.env["TMPDIR"] = folder;
  const Made made(folder);
  Program doctor(options);
  ASSERT_TRUE(made.wait());
  doctor.signal(SIGINT);
  const ProgramEnd end = doctor.finish(std::chrono::seconds(20));
  EXPECT_FALSE(end.overdue);
  EXPECT_EQ(end.exit_status(), 130) << end.out << end.err;
  EXPECT_THAT(left_below(folder), ::testing::IsEmpty());
  EXPECT_THAT(doctor.remaining(std::chrono::seconds(5)), ::testing::IsEmpty());
}

}  // namespace
}  // namespace exechost::test

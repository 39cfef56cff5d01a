// On most machines every mount is shared: init makes them so. What is mounted later then appears in each copy that
// was not cut off, in a sandbox too.
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

// The first two arguments are the workspace and the account; what follows runs in a copy of this machine's mounts
// where all of them are shared, while something is mounted in the workspace.
constexpr const char* kMountMeanwhile = R"(
ws=$1 account=$2
shift 2
(until [ -e "$ws/up" ]; do sleep 0.02; done
 mount -t tmpfs none "$ws/sub" && touch "$ws/sub/mounted-later" && touch "$ws/done") &
exec runuser -u "$account" -- "$@"
)";
// In the sandbox.
constexpr const char* kLook = R"(
touch up
until [ -e done ]; do sleep 0.02; done
ls -A sub
grep -cE ' (shared|master|propagate_from):[0-9]' /proc/self/mountinfo
true
)";

class Mounts : public ::testing::TestWithParam<const char*> {};

TEST_P(Mounts, MadeLaterDoNotAppearInside) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make shared mounts";
  std::string why_not;
  const auto scene = Scene::make(GetParam(), Place::srv, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  scene->folder("ws/sub");
  ProgramOptions options = scene->cli({"run", "--shell", kLook});
  std::vector<std::string> argv{"/usr/bin/unshare", "--mount",
                                "--propagation",    "shared",
                                "/bin/sh",          "-c",
                                kMountMeanwhile,    "sh",
                                scene->workspace(), scene->account().name};
  argv.insert(argv.end(), options.argv.begin(), options.argv.end());
  options.argv = std::move(argv);
  options.as.reset();

  const ProgramEnd end = run_program(options);

  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_EQ(end.out, "0\n") << "nothing in the folder, and no mount that follows another one";
}

INSTANTIATE_TEST_SUITE_P(As, Mounts, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test

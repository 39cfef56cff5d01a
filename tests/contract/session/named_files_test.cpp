// Files into and out of named sessions, and copies of the workspace that their runs share, by the command line.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/contract/session/named_scene.hpp"

namespace exechost::test {
namespace {

using ::testing::HasSubstr;

class NamedFiles : public NamedScene {
 protected:
  static std::string content(const std::string& path) {
    const std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
};

TEST_F(NamedFiles, CopyInOutAndBetween) {
  scene_->file("out/data", "some\n");
  ASSERT_EQ(command({"cp", scene_->outside() + "/data", "one:/tmp/data"}).exit_status(), 0);
  EXPECT_EQ(command({"run", "--session", "one", "--", "cat", "/tmp/data"}).out, "some\n");
  ASSERT_EQ(command({"run", "--session", "two", "--", "true"}).exit_status(), 0);
  const ProgramEnd between = command({"cp", "one:/tmp/data", "two:/tmp/other"});
  ASSERT_EQ(between.exit_status(), 0) << between.err;
  const ProgramEnd out = command({"cp", "two:/tmp/other", scene_->outside() + "/back"});
  ASSERT_EQ(out.exit_status(), 0) << out.err;
  EXPECT_EQ(content(scene_->outside() + "/back"), "some\n");
}

TEST_F(NamedFiles, RunsOfASessionShareACopyOfTheWorkspaceThatIsAppliedAfterReview) {
  scene_->file("ws/kept", "before\n");
  const auto run = [this](const std::string& script) {
    return command({"run", "--session", "s", "--set", "workspace.mode=\"copy\"", "--", "/bin/sh", "-c", script});
  };
  const ProgramEnd first = run("echo after > kept; echo > new");
  ASSERT_EQ(first.exit_status(), 0) << first.err;
  EXPECT_EQ(run("cat kept").out, "after\n");
  EXPECT_EQ(content(scene_->workspace() + "/kept"), "before\n");
  ASSERT_EQ(command({"stop", "s"}).exit_status(), 0);
  const ProgramEnd changes = command({"changes", "s"});
  EXPECT_THAT(changes.out, HasSubstr("M kept"));
  EXPECT_THAT(changes.out, HasSubstr("A new"));
  const ProgramEnd applied = command({"apply", "s"});
  EXPECT_EQ(applied.exit_status(), 0) << applied.err;
  EXPECT_EQ(content(scene_->workspace() + "/kept"), "after\n");
  EXPECT_TRUE(std::filesystem::exists(scene_->workspace() + "/new"));
}

}  // namespace
}  // namespace exechost::test

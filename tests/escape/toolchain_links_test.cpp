// Links that a command leaves where PATH and the version managers' variables point at don't show a
// later command more of the home.
#include <gmock/gmock.h>
#include <filesystem>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

class ToolchainLinks : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    scene_->file("home/proj/.venv/pyvenv.cfg", "");
    scene_->file("home/proj/.venv/bin/activate", "");
    scene_->folder("home/proj2");
    scene_->file("home/diary.txt", "DIARY\n");
    scene_->file("home/Documents/bin/x", "#!/bin/sh\n", 0755);
    scene_->file("home/Documents/letter", "LETTER\n");
    scene_->folder("home/Documents/lib");
    scene_->file("home/.config/app/token", "TOKEN\n", 0600);
    scene_->file("home/private/note", "NOTE\n");
  }

  // $OUTSIDE is the home as it is outside.
  ProgramEnd in(const std::string& workspace, const std::string& script) const {
    const std::string venv = scene_->home() + "/proj/.venv";
    ProgramOptions options = scene_->cli({"run", "--quiet", "--env", "OUTSIDE=" + scene_->home(), "--shell", script});
    options.env["PATH"] = venv + "/bin:" + options.env["PATH"];
    options.env["VIRTUAL_ENV"] = venv;
    options.cwd = scene_->home() + "/" + workspace;
    return run_program(options);
  }

  // What of the victims is seen by a command in `workspace`.
  std::string seen(const std::string& workspace) const {
    const std::string home = scene_->home();
    std::string script = "cat";
    for (const char* name : {"diary.txt", "Documents/letter", ".config/app/token", "private/note"})
      script += " " + home + "/" + name;
    script += " " + home + "/proj/.venv/note " + home + "/proj/.venv/bin/note 2>/dev/null; echo ran";
    const ProgramEnd end = in(workspace, script);
    EXPECT_EQ(end.exit_status(), 0) << end.err;
    return end.out;
  }

  std::unique_ptr<Scene> scene_;
};

TEST_P(ToolchainLinks, ProgramsThatLeadToDocuments) {
  const ProgramEnd planted = in("proj",
                                "cd .venv/bin && ln -s $OUTSIDE/diary.txt a && ln -s $OUTSIDE/Documents/bin/x b && "
                                "ln -s $OUTSIDE/.config/app/token c && ln -s $OUTSIDE/private d");
  ASSERT_EQ(planted.exit_status(), 0) << planted.err;
  ASSERT_TRUE(exists(scene_->home() + "/proj/.venv/bin/a"));
  EXPECT_EQ(seen("proj"), "ran\n");
  EXPECT_EQ(seen("proj2"), "ran\n");
}

TEST_P(ToolchainLinks, AnEnvironmentThatIsAnotherFolder) {
  const ProgramEnd planted = in("proj", "mv .venv .v2 && ln -s $OUTSIDE/private .venv");
  ASSERT_EQ(planted.exit_status(), 0) << planted.err;
  EXPECT_EQ(seen("proj"), "ran\n");
  EXPECT_EQ(seen("proj2"), "ran\n");
}

TEST_P(ToolchainLinks, AnEnvironmentWhoseProgramsAreElsewhere) {
  const ProgramEnd planted = in("proj", "mv .venv .v2 && ln -s $OUTSIDE/Documents .venv");
  ASSERT_EQ(planted.exit_status(), 0) << planted.err;
  EXPECT_EQ(seen("proj"), "ran\n");
  EXPECT_EQ(seen("proj2"), "ran\n");
}

TEST_P(ToolchainLinks, AProgramFolderThatIsAnotherFolder) {
  const ProgramEnd planted = in("proj", "mv .venv/bin .venv/b2 && ln -s $OUTSIDE/private .venv/bin");
  ASSERT_EQ(planted.exit_status(), 0) << planted.err;
  EXPECT_EQ(seen("proj"), "ran\n");
  EXPECT_EQ(seen("proj2"), "ran\n");
}

INSTANTIATE_TEST_SUITE_P(Accounts, ToolchainLinks, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test

// What the product says where it can't do its work, or not all of it: a full disk, no descriptors, a
// folder that is gone.
#include <gmock/gmock.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

using ::testing::HasSubstr;

class Limits : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
  }

  // The command line as a shell starts it: with redirections and limits of its own.
  ProgramEnd by_shell(const std::string& script) const {
    ProgramOptions options = scene_->cli({});
    const std::string program = options.argv.front();
    options.argv = {"/bin/sh", "-c", script, "sh", program};
    return run_program(options, std::chrono::seconds(20));
  }

  std::unique_ptr<Scene> scene_;
};

TEST_P(Limits, OutputThatCouldNotBeWrittenIsToldAndNoSuccess) {
  for (const char* target : {">/dev/full", ">&-"}) {
    const ProgramEnd end = by_shell(std::string("\"$1\" run --quiet -- echo hi ") + target);
    EXPECT_EQ(end.exit_status(), 125) << target;
    EXPECT_THAT(end.err, HasSubstr("stdout")) << target;
    const ProgramEnd own = by_shell(std::string("\"$1\" run --quiet --shell 'echo hi; exit 7' ") + target);
    EXPECT_EQ(own.exit_status(), 7) << "the command's own says more";
  }
  EXPECT_EQ(by_shell("\"$1\" run --quiet -- true >&-").exit_status(), 0) << "nothing was to be written";
  EXPECT_EQ(by_shell("\"$1\" run --quiet -- true >&-").err, "");
}

TEST_P(Limits, AReaderThatGoesAwayIsNoFailure) {
  const ProgramEnd end = by_shell("{ \"$1\" run --quiet --shell 'yes | head -c 1000000; exit 0'; echo $? >&2; } | :");
  EXPECT_EQ(end.err, "0\n");
}

// A sanitizer needs descriptors of its own.
#ifdef EXECHOST_SANITIZED
constexpr const char* kTooFew[] = {"20", "30"};
#else
constexpr const char* kTooFew[] = {"4", "5", "8", "12", "20", "30"};
#endif

TEST_P(Limits, TooFewDescriptorsAreNamed) {
  for (const char* limit : kTooFew) {
    const ProgramEnd end = by_shell(std::string("ulimit -n ") + limit + "; exec \"$1\" run --quiet -- echo hi");
    EXPECT_FALSE(end.overdue) << limit;
    EXPECT_EQ(end.exit_status(), 125) << limit << ": " << end.err;
    EXPECT_EQ(end.out, "");
    EXPECT_THAT(end.err, HasSubstr(std::string("ulimit -n (RLIMIT_NOFILE) is ") + limit)) << limit;
  }
  const ProgramEnd enough = by_shell("ulimit -n 64; exec \"$1\" run --quiet -- echo hi");
  EXPECT_EQ(enough.exit_status(), 0) << enough.err;
  EXPECT_EQ(enough.out, "hi\n");
}

TEST_P(Limits, TheDoctorLeavesNothingBehind) {
  scene_->folder("tmp");
  const std::string folder = scene_->base() + "/tmp";
  for (const char* limit : {"4", "8", "20", "30", "64"}) {
    by_shell("ulimit -n " + std::string(limit) + "; TMPDIR=" + folder + " exec \"$1\" doctor");
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << limit;
  }
}

TEST_P(Limits, MoreHiddenFilesThanTheBackendHidesAreRefused) {
  std::string files;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "secret" + std::to_string(i);
    scene_->file("ws/" + name, "x");
    files += (files.empty() ? "\"" : ",\"") + name + "\"";
  }
  scene_->file("home/.config/exechost/settings.json", "{\"filesystem\":{\"deny_read\":[" + files + "]}}");
  const ProgramEnd end = scene_->run({"run", "--json", "--", "echo", "ran"});
  EXPECT_EQ(end.exit_status(), 125);
  const auto result = nlohmann::json::parse(end.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << end.out;
  EXPECT_EQ(result["failure"]["kind"], "unsupported");
  EXPECT_EQ(result["started"], "no");
  EXPECT_THAT(result["failure"]["message"].get<std::string>(), HasSubstr("240"));
  EXPECT_THAT(result["failure"]["hint"].get<std::string>(), HasSubstr("filesystem.deny_read"));
}

TEST_P(Limits, ACurrentFolderThatIsGoneIsNamed) {
  const ProgramEnd end = by_shell("mkdir gone && cd gone && rmdir ../gone && exec \"$1\" run -- echo ran");
  EXPECT_EQ(end.exit_status(), 125);
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(end.err, HasSubstr("current folder does not exist"));
}

TEST_P(Limits, ARuntimeFolderThatIsMissingIsNotMade) {
  ProgramOptions options = scene_->cli({"run", "--quiet", "--", "echo", "ran"});
  options.env["XDG_RUNTIME_DIR"] = scene_->base() + "/xdg/zz/user/0";
  const ProgramEnd end = run_program(options);
  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_EQ(end.out, "ran\n");
  EXPECT_FALSE(exists(scene_->base() + "/xdg/zz"));
}

INSTANTIATE_TEST_SUITE_P(Accounts, Limits, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test

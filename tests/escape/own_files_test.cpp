// ExecHost's own files can't be changed by what ExecHost runs, whatever it was allowed to write.
#include <gmock/gmock.h>
#include <filesystem>

#include "tests/support/scene.hpp"
#include "tests/support/tree.hpp"

namespace exechost::test {
namespace {

// `given` is what --allow-write names; `victim` is the file that must stay as it is.
struct OwnFile {
  const char* name;
  const char* given;
  const char* victim;
};
std::ostream& operator<<(std::ostream& out, const OwnFile& file) { return out << file.name; }

const OwnFile kOwnFiles[] = {
    {"settings_file", "home/.config/exechost/settings.json", "home/.config/exechost/settings.json"},
    {"settings_folder", "home/.config/exechost", "home/.config/exechost/settings.json"},
    {"settings_parent", "home/.config", "home/.config/exechost/settings.json"},
    {"plugin_folder", "home/plugins", "home/plugins/own.so"},
    {"plugin_file", "home/plugins/own.so", "home/plugins/own.so"},
    {"plugin_parent", "home", "home/plugins/own.so"},
    {"state_folder", "home/.local/state/exechost", "home/.local/state/exechost/output/old"},
    {"state_parent", "home/.local", "home/.local/state/exechost/output/old"},
    {"cache_folder", "home/.cache/exechost", "home/.cache/exechost/entry"},
    {"runtime_folder", "xdg/run", "xdg/run/exechost/victim"},
};

class OwnFiles : public ::testing::TestWithParam<std::tuple<const char*, OwnFile>> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(std::get<0>(GetParam()), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
    scene_->file("home/.config/exechost/settings.json",
                 R"({"plugins":{"directories":[")" + scene_->home() + R"(/plugins"]}})");
    for (const char* folder :
         {"home/plugins", "home/.local/state/exechost", "home/.cache/exechost", "xdg/run/exechost"}) {
      scene_->folder(folder);
    }
    scene_->file(std::get<1>(GetParam()).victim, exists(victim()) ? read_file(victim()) : "before\n");
    std::filesystem::permissions(scene_->runtime_folder() + "/exechost", std::filesystem::perms::owner_all);
  }

  std::string victim() const { return scene_->base() + "/" + std::get<1>(GetParam()).victim; }

  std::unique_ptr<Scene> scene_;
};

TEST_P(OwnFiles, AreNotWritable) {
  const std::string folder = std::filesystem::path(victim()).parent_path().string();
  const std::string script = "echo ran; for f in " + victim() + " " + folder + "/planted " + folder +
                             "/settings.json; do (echo x > $f) 2>/dev/null; done; rm -rf " + victim() + " " + folder +
                             " 2>/dev/null; mv " + folder + " " + folder + ".old 2>/dev/null; exit 0";
  ProgramOptions options =
      scene_->cli({"run", "--allow-write", scene_->base() + "/" + std::get<1>(GetParam()).given, "--shell", script});
  // The places that ExecHost takes when no variable names others.
  options.env.erase("XDG_STATE_HOME");
  options.env.erase("XDG_CACHE_HOME");
  const Tree before = describe_tree(scene_->home());
  const std::string content = read_file(victim());

  const ProgramEnd end = run_program(options);

  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_EQ(end.out, "ran\n");
  ASSERT_TRUE(exists(victim()));
  EXPECT_EQ(read_file(victim()), content);
  EXPECT_FALSE(exists(folder + "/planted"));
  EXPECT_EQ(changed_paths(before, describe_tree(scene_->home())), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Files, OwnFiles,
                         ::testing::Combine(::testing::Values("root", "user"), ::testing::ValuesIn(kOwnFiles)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param).name;
                         });

// One that isn't there yet could be made by the command, so nothing runs.
TEST(OwnFilesThatAreMissing, AreRefusedBelowAWritableFolder) {
  for (const char* user : {"root", "user"}) {
    std::string why_not;
    const auto scene = Scene::make(user, Place::var_tmp, why_not);
    if (!scene) continue;
    ProgramOptions options = scene->cli({"run", "--allow-write", scene->home(), "--", "echo", "ran"});
    options.env.erase("XDG_STATE_HOME");
    options.env.erase("XDG_CACHE_HOME");
    const ProgramEnd end = run_program(options);
    EXPECT_EQ(end.exit_status(), 125);
    EXPECT_EQ(end.out, "");
    EXPECT_THAT(end.err, ::testing::HasSubstr(scene->home() + "/."));
  }
}

// The programs that isolate. Nothing is written even if one could be opened.
TEST(OwnPrograms, AreNotWritable) {
  std::string why_not;
  const auto scene = Scene::make("root", Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  const std::string prefix = test_prefix();
  for (const char* granted :
       {"", "/bin", "/bin/exechost", "/libexec", "/libexec/exechost", "/lib", "/lib/exechost/plugins"}) {
    std::string script = "echo ran";
    for (const char* file : {"/bin/exechost", "/libexec/exechost/exechost-guest", "/libexec/exechost/exechost-keeper",
                             "/lib/exechost/plugins/bwrap.so", "/lib/exechost/plugins/bwrap.json"}) {
      script += "; (true >> " + prefix + file + ") 2>/dev/null && echo opened " + file;
    }
    for (const char* folder : {"/libexec/exechost", "/lib/exechost/plugins"}) {
      script += "; (true > " + prefix + folder + "/exechost-test-planted) 2>/dev/null && echo planted in " + folder;
    }
    const ProgramEnd end =
        scene->run({"run", "--quiet", "--allow-write", prefix + granted, "--shell", script + "; exit 0"});
    EXPECT_EQ(end.exit_status(), 0) << end.err;
    EXPECT_EQ(end.out, "ran\n") << granted;
    for (const char* folder : {"/libexec/exechost", "/lib/exechost/plugins"}) {
      std::filesystem::remove(prefix + folder + "/exechost-test-planted");
    }
  }
}

// A workspace that holds any of them is refused before anything runs.
TEST(OwnFilesInTheWorkspace, AreRefused) {
  for (const char* user : {"root", "user"}) {
    std::string why_not;
    const auto scene = Scene::make(user, Place::var_tmp, why_not);
    if (!scene) continue;
    scene->file("home/.config/exechost/settings.json", "{}");
    for (const std::string& workspace : {scene->home() + "/.config/exechost", scene->home() + "/.config"}) {
      const ProgramEnd end = scene->run({"run", "--workspace", workspace, "--", "echo", "ran"});
      EXPECT_EQ(end.exit_status(), 125) << workspace;
      EXPECT_EQ(end.out, "");
      EXPECT_THAT(end.err, ::testing::HasSubstr(workspace));
    }
  }
}

// A program that a backend's settings name decides how the next command is isolated.
TEST(OwnBackendPrograms, AreNotReplaced) {
  for (const char* user : {"root", "user"}) {
    std::string why_not;
    const auto scene = Scene::make(user, Place::home, why_not);
    if (!scene || !exists("/usr/bin/bwrap")) continue;
    scene->file("out/tools/bwrap", read_file("/usr/bin/bwrap"), 0755);
    scene->file("home/.config/exechost/settings.json",
                R"({"backends":{"bwrap":{"path":")" + scene->outside() + R"(/tools/bwrap"}}})");
    const std::string program = scene->outside() + "/tools/bwrap";
    const std::string script = "echo ran; (echo x > " + program + ") 2>/dev/null; rm -f " + program +
                               " 2>/dev/null; mv " + scene->outside() + "/tools " + scene->outside() +
                               "/t2 2>/dev/null; exit 0";
    const ProgramEnd end = scene->run({"run", "--quiet", "--allow-write", scene->outside(), "--shell", script});
    EXPECT_EQ(end.exit_status(), 0) << end.err;
    EXPECT_EQ(end.out, "ran\n");
    ASSERT_TRUE(exists(program));
    EXPECT_EQ(read_file(program), read_file("/usr/bin/bwrap"));

    const ProgramEnd refused = scene->run({"run", "--workspace", scene->outside(), "--", "echo", "ran"});
    EXPECT_EQ(refused.exit_status(), 125);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, ::testing::HasSubstr(program));
  }
}

// The account's real home, as the user database has it: nothing of it is there.
TEST(RealHome, IsNotReadable) {
  for (const char* user : {"root", "user"}) {
    std::string why_not;
    const auto canary = Scene::make(user, Place::home, why_not);
    const auto scene = Scene::make(user, Place::var_tmp, why_not);
    if (!scene || !canary) continue;
    canary->file("home/.ssh/id_ed25519", "CANARY\n", 0600);
    ProgramOptions options =
        scene->cli({"run", "--shell",
                    "echo ran; cat " + canary->home() + "/.ssh/id_ed25519; ls -A " + canary->base() + "; (echo x > " +
                        canary->home() + "/planted) 2>/dev/null; exit 0"});
    options.env["HOME"] = canary->account().home;
    const ProgramEnd end = run_program(options);
    EXPECT_EQ(end.exit_status(), 0) << end.err;
    EXPECT_EQ(end.out, "ran\n");
    EXPECT_FALSE(exists(canary->home() + "/planted"));
  }
}

}  // namespace
}  // namespace exechost::test

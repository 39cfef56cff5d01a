// exechost plugin new: which names, what is written, and what is left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/application.hpp"
#include "cli/exit_status.hpp"
#include "cli/plugin_project/content.hpp"
#include "cli/plugin_project/new_folder.hpp"
#include "core/plugin/manifest.hpp"

namespace exechost::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

class PluginNew : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/exechost-plugin-new-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  int run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plugin", "new"});
    Application application;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = application.run(arguments);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return status;
  }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::set<std::string> names_in(const std::string& path) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) names.insert(entry.path().filename());
    return names;
  }

  std::string folder_;
  std::string out_;
  std::string err_;
};

TEST_F(PluginNew, WritesAProjectInCpp) {
  ASSERT_EQ(run({"my-box", at("box")}), 0) << err_;
  EXPECT_THAT(names_in(at("box")), UnorderedElementsAre("CMakeLists.txt", "README.md", "my-box.cpp", "my-box.json"));
  EXPECT_THAT(read(at("box/my-box.cpp")), HasSubstr(R"(EXECHOST_PLUGIN(Backend, "my-box", "0.1.0");)"));
  EXPECT_THAT(read(at("box/CMakeLists.txt")), HasSubstr("ID my-box SOURCES my-box.cpp MANIFEST my-box.json"));
  EXPECT_THAT(out_, HasSubstr(at("box/README.md")));
}

TEST_F(PluginNew, WritesAProjectInC) {
  ASSERT_EQ(run({"--c", "box_2", at("box")}), 0) << err_;
  EXPECT_THAT(names_in(at("box")), UnorderedElementsAre("CMakeLists.txt", "README.md", "box_2.c", "box_2.json"));
  EXPECT_THAT(read(at("box/box_2.c")), HasSubstr(R"("box_2")"));
  EXPECT_THAT(read(at("box/CMakeLists.txt")), HasSubstr("LANGUAGES C)"));
}

TEST_F(PluginNew, TheManifestIsOneAndNoPlaceholderIsLeft) {
  for (const bool in_c : {false, true}) {
    const auto files = project_files({"box", in_c, "/opt/a b"});
    for (const ProjectFile& file : files) {
      EXPECT_THAT(file.text, Not(HasSubstr("@"))) << file.name;
      EXPECT_TRUE(file.text.ends_with('\n')) << file.name;
      if (file.name == "README.md") {
        EXPECT_THAT(file.text, HasSubstr("-DCMAKE_PREFIX_PATH='/opt/a b'\n"));
      }
      if (file.name != "box.json") continue;
      const auto manifest = plugin::parse_manifest(file.text, "/x/box.json");
      ASSERT_TRUE(manifest) << manifest.error().message;
      EXPECT_EQ(manifest->version, "0.1.0");
      EXPECT_EQ(manifest->statement.capability("files").grade, plan::Grade::unsupported);
      EXPECT_EQ(manifest->statement.capability("network.none").grade, plan::Grade::unsupported);
      EXPECT_EQ(manifest->statement.capability("tree_kill").grade, plan::Grade::advisory);
    }
  }
}

TEST_F(PluginNew, OnlyTheOwnerMayWriteWhatIsMade) {
  const mode_t before = ::umask(0);
  EXPECT_EQ(run({"box", at("box")}), 0) << err_;
  ::umask(before);
  EXPECT_EQ(fs::status(at("box")).permissions(), fs::perms(0755));
  for (const auto& entry : fs::directory_iterator(at("box"))) {
    EXPECT_EQ(entry.status().permissions(), fs::perms(0644)) << entry.path();
  }
}

class Refused : public PluginNew, public testing::WithParamInterface<const char*> {};
TEST_P(Refused, IsAWrongCommandLineAndWritesNothing) {
  EXPECT_EQ(run({GetParam(), at("box")}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("hint: "));
  EXPECT_EQ(out_, "");
  EXPECT_THAT(names_in(folder_), testing::IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Name, Refused,
                         testing::Values("", "Box", "1box", "_box", "bo/x", "../box", ".", "bo x", "b\xc3\xb6x",
                                         "box.so", "a234567890123456789012345678901234567890123456789"));
INSTANTIATE_TEST_SUITE_P(OwnName, Refused,
                         testing::Values("local", "gateway", "bwrap", "docker", "ssh", "singularity", "modal",
                                         "daytona", "bubblewrap", "apptainer", "podman"));

TEST_F(PluginNew, TheLongestNameAndNamesOfOtherCommandsAreFine) {
  EXPECT_EQ(run({std::string(48, 'a'), at("long")}), 0) << err_;
  EXPECT_EQ(run({"run", at("run")}), 0) << err_;
  EXPECT_EQ(run({"test", at("test")}), 0) << err_;
}

TEST_F(PluginNew, IncompleteAndTooLongCommandLinesAreTold) {
  EXPECT_EQ(run({}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("which name"));
  EXPECT_EQ(run({"box", at("box"), "more"}), kExitUsage);
  EXPECT_EQ(run({"box", "--cpp"}), kExitUsage);
  EXPECT_EQ(run({"box", "--", "x"}), kExitUsage);
  Application application;
  EXPECT_EQ(application.run({"plugin"}), kExitUsage);
  EXPECT_EQ(application.run({"plugin", "old"}), kExitUsage);
  EXPECT_THAT(names_in(folder_), testing::IsEmpty());
}

TEST_F(PluginNew, TakesAnEmptyFolderAndRefusesAnyOther) {
  fs::create_directory(at("box"));
  EXPECT_EQ(run({"box", at("box/")}), 0) << err_;
  const std::string before = read(at("box/box.cpp"));
  EXPECT_EQ(run({"box", at("box"), "--c"}), 1);
  EXPECT_THAT(err_, HasSubstr("not empty"));
  EXPECT_EQ(names_in(at("box")).size(), 4U);
  EXPECT_EQ(read(at("box/box.cpp")), before);

  fs::create_directory(at("hidden"));
  std::ofstream(at("hidden/.keep")) << "";
  EXPECT_EQ(run({"box", at("hidden")}), 1);
  EXPECT_THAT(names_in(at("hidden")), UnorderedElementsAre(".keep"));
}

TEST_F(PluginNew, AFileOrALinkIsNoFolder) {
  std::ofstream(at("file")) << "text";
  fs::create_directory(at("elsewhere"));
  fs::create_directory_symlink("elsewhere", at("link"));
  fs::create_symlink("nowhere", at("dangling"));
  for (const char* const name : {"file", "link", "link/", "dangling"}) {
    EXPECT_EQ(run({"box", at(name)}), 1) << name;
    EXPECT_THAT(err_, HasSubstr("hint: ")) << name;
  }
  EXPECT_EQ(read(at("file")), "text");
  EXPECT_THAT(names_in(at("elsewhere")), testing::IsEmpty());
  EXPECT_FALSE(fs::exists(at("nowhere")));
}

TEST_F(PluginNew, TheFolderAboveHasToBeThere) {
  EXPECT_EQ(run({"box", at("a/b")}), 1);
  EXPECT_THAT(err_, HasSubstr("make the folder above it first"));
  EXPECT_FALSE(fs::exists(at("a")));
}

TEST_F(PluginNew, AFailureLeavesNothing) {
  const auto twice = make_folder(at("box"), {{"one", "1"}, {"two", "2"}, {"one", "3"}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().error_number, EEXIST);
  EXPECT_FALSE(fs::exists(at("box")));
  fs::create_directory(at("mine"));
  EXPECT_FALSE(make_folder(at("mine"), {{"one", "1"}, {"no/such", "2"}}));
  EXPECT_THAT(names_in(at("mine")), testing::IsEmpty());
}

TEST_F(PluginNew, APlaceThatOthersMayWriteIsWarnedAbout) {
  fs::permissions(folder_, fs::perms(0777));
  EXPECT_EQ(run({"box", at("box")}), 0);
  EXPECT_THAT(err_, HasSubstr("no plugin is loaded from there"));
}

}  // namespace
}  // namespace exechost::cli

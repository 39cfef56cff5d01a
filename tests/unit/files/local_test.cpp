// Links, paths of this machine, and what a built-in says.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "core/files/builtin_report.hpp"
#include "core/files/links.hpp"
#include "core/files/place.hpp"
#include "tests/support/temp_folder.hpp"

namespace exechost::files {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Links, OnlyThoseThatStayInside) {
  for (const char* target : {"a", "a/b", "./a", "a/./b", "a//b", ".", "a/"})
    EXPECT_TRUE(stays_inside(0, target)) << target;
  for (const char* target : {"../a", "..", "./../a", "../."}) EXPECT_TRUE(stays_inside(1, target)) << target;
  EXPECT_TRUE(stays_inside(3, "../../../a"));
  // a -> . and b -> a/.. would be outside together: ".." behind a name never is.
  for (const char* target : {"", "/", "/etc", "//a", "..", "../a", "./..", "a/..", "a/../b", "a/../../b"}) {
    EXPECT_FALSE(stays_inside(0, target)) << target;
  }
  for (const char* target : {"../..", "../../a", "../a/.."}) EXPECT_FALSE(stays_inside(1, target)) << target;
}

class Places : public ::testing::Test {
 protected:
  Places() {
    fs::create_directories(folder_.path() + "/workspace/in");
    fs::create_directories(folder_.path() + "/elsewhere");
    rules_.base = folder_.path();
    rules_.writable_inside = {folder_.path() + "/workspace"};
  }
  std::string name_of(const UniqueFd& fd) { return fs::read_symlink("/proc/self/fd/" + std::to_string(fd.get())); }
  test::TempFolder folder_{"/var/tmp", geteuid(), getegid()};
  PlaceRules rules_;
};

TEST_F(Places, AreFoundRelativeAndAbsolute) {
  const std::vector<std::string> paths{"workspace/in/x", "./workspace//in/x", "elsewhere/../workspace/in/x",
                                       folder_.path() + "/workspace/in/x"};
  for (const std::string& path : paths) {
    const auto place = find_place(path, rules_);
    ASSERT_TRUE(place.has_value()) << describe(place.error());
    EXPECT_EQ(name_of(place->folder), folder_.path() + "/workspace/in");
    EXPECT_EQ(place->name, "x");
    EXPECT_TRUE(place->planted);
  }
  for (const char* path : {"elsewhere/", "elsewhere/.", "workspace/../elsewhere/", "workspace/in/../../elsewhere/."}) {
    const auto place = find_place(path, rules_);
    ASSERT_TRUE(place.has_value()) << describe(place.error());
    EXPECT_EQ(name_of(place->folder), folder_.path() + "/elsewhere") << path;
    EXPECT_EQ(place->name, "");
  }
}

TEST_F(Places, LinksAreFollowedButWhereCommandsWrite) {
  fs::create_symlink(folder_.path() + "/elsewhere", folder_.path() + "/workspace/laid");
  fs::create_symlink("elsewhere", folder_.path() + "/own");
  fs::create_symlink("own", folder_.path() + "/twice");
  // By way of a link of the caller's into the workspace: what lies there is still the command's.
  fs::create_symlink("workspace", folder_.path() + "/ws");
  for (const char* path : {"own/x", "twice/x", "ws/../elsewhere/x"}) {
    const auto place = find_place(path, rules_);
    ASSERT_TRUE(place.has_value()) << describe(place.error());
    EXPECT_EQ(name_of(place->folder), folder_.path() + "/elsewhere");
    EXPECT_FALSE(place->planted);
  }
  for (const char* path : {"workspace/laid/x", "workspace/laid/", "workspace/laid/.", "ws/laid/x"}) {
    const auto place = find_place(path, rules_);
    ASSERT_FALSE(place.has_value()) << path;
    EXPECT_EQ(place.error().kind, FailureKind::denied);
    EXPECT_THAT(place.error().message, HasSubstr("laid"));
  }
  fs::create_symlink("round", folder_.path() + "/round");
  const auto round = find_place("round/x", rules_);
  ASSERT_FALSE(round.has_value());
  EXPECT_EQ(round.error().error_number, ELOOP);
}

TEST_F(Places, ATargetIsAFolderOrAName) {
  const auto into = find_target("elsewhere", "name", rules_);
  ASSERT_TRUE(into.has_value());
  EXPECT_EQ(name_of(into->folder), folder_.path() + "/elsewhere");
  EXPECT_EQ(into->name, "name");
  const auto as = find_target("elsewhere/other", "name", rules_);
  ASSERT_TRUE(as.has_value());
  EXPECT_EQ(as->name, "other");
  fs::create_symlink(folder_.path() + "/elsewhere", folder_.path() + "/workspace/laid");
  const auto beside = find_target("workspace/laid", "name", rules_);
  ASSERT_TRUE(beside.has_value());
  EXPECT_EQ(name_of(beside->folder), folder_.path() + "/workspace");
  EXPECT_EQ(beside->name, "laid");
  EXPECT_EQ(*name_for_copy("a/b/"), "b");
  for (const char* nameless : {".", "..", "/", "a/..", ""})
    EXPECT_FALSE(name_for_copy(nameless).has_value()) << nameless;
}

BuiltinReport said(const std::string& text) {
  BuiltinReport report("/tmp/target");
  // Bytes come as they come.
  for (const char byte : text) report.add({&byte, 1});
  report.finish();
  return report;
}

TEST(BuiltinReport, IsReadWithBounds) {
  const auto good = said("skipped fifo data/a%0Ab\ndone 1 2 3 4 1\n");
  ASSERT_TRUE(good.done());
  EXPECT_EQ(good.done()->counts.bytes, 4U);
  ASSERT_EQ(good.skipped().size(), 1U);
  EXPECT_EQ(good.skipped()[0].first, "a\nb");
  const auto about_itself = said("before 1 2 0 4 0\nfailed target 2 data\n");
  ASSERT_TRUE(about_itself.failure());
  EXPECT_THAT(about_itself.failure()->message, ::testing::HasSubstr("\"/tmp/target\""));
  EXPECT_EQ(about_itself.before().files, 1U);
  EXPECT_EQ(about_itself.before().folders, 2U);
  const auto failed = said("failed write 28 data/x\n");
  ASSERT_TRUE(failed.failure());
  EXPECT_EQ(failed.failure()->error_number, ENOSPC);
  EXPECT_EQ(failed.failure()->kind, FailureKind::unavailable);
  for (const char* nonsense :
       {"done 1 2 3 4\n", "done 1 2 3 4 5 6\n", "done -1 2 3 4 5\n", "done 1 2 3 4 99999999999999999999\n",
        "done  1 2 3 4 5\n", "failed write -1 x\n", "failed write 99999 x\n", "failed \x1b[2J 2 x\n",
        "skipped because x\n", "failed write 28 data", ""}) {
    const auto report = said(nonsense);
    EXPECT_FALSE(report.done()) << nonsense;
    EXPECT_FALSE(report.failure()) << nonsense;
    EXPECT_TRUE(report.skipped().empty()) << nonsense;
  }
  EXPECT_FALSE(said("done 1 2 3 4 5" + std::string(100'000, ' ') + "\n").done());
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "skipped link x\n";
  EXPECT_EQ(said(many).skipped().size(), 100U);
}

}  // namespace
}  // namespace exechost::files

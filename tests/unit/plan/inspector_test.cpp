// Looks at real files below a temporary folder.
#include "core/plan/inspector.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/plan/machine.hpp"
#include "core/plan/paths.hpp"

namespace exechost::plan {
namespace {

namespace fs = std::filesystem;

class InspectorTest : public testing::Test {
 public:
  InspectorTest(const InspectorTest&) = delete;
  InspectorTest& operator=(const InspectorTest&) = delete;

 protected:
  InspectorTest() {
    std::string name = (fs::canonical(fs::temp_directory_path()) / "inspector-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~InspectorTest() override {
    std::error_code ignored;
    fs::permissions(root_, fs::perms::owner_all, ignored);
    fs::remove_all(root_, ignored);
  }

  std::string path(const std::string& name) const { return join_path(root_, name); }
  void file(const std::string& name) const {
    fs::create_directories(parent_of(path(name)));
    std::ofstream(path(name)) << "x";
  }
  // So many names that are not there that a folder is listed.
  void ask_for_others(Inspector& inspector, const std::string& folder) const {
    for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(inspector.existing_below(path(folder), name), nullptr);
  }
  std::string root_;
};

TEST_F(InspectorTest, APathIsLookedAtOnce) {
  Inspector inspector;
  EXPECT_EQ(inspector.at(path("f")).kind, FileKind::missing);
  file("f");
  EXPECT_EQ(inspector.at(path("f")).kind, FileKind::missing);
  EXPECT_EQ(Inspector().at(path("f")).kind, FileKind::regular);
}

TEST_F(InspectorTest, WhatExistsIsFoundAsALookFindsIt) {
  file("home/.netrc");
  file("home/.config/gh/hosts.yml");
  file("elsewhere/aws/credentials");
  fs::create_directory_symlink(path("elsewhere/aws"), path("home/.aws"));
  fs::create_directory_symlink(path("elsewhere"), path("home/.local"));
  fs::create_symlink(path("nowhere"), path("home/.ssh"));
  Inspector inspector;
  const std::string home = path("home");
  for (const char* name : {".netrc", ".config/gh", ".config/gh/hosts.yml", ".aws", ".aws/credentials", ".local/aws",
                           ".ssh", ".ssh/id", ".netrc/below", ".config/hub", ".kube", "n/n/versions"}) {
    const PathFact seen = inspect_path(join_path(home, name));
    const PathFact* found = inspector.existing_below(home, name);
    ASSERT_EQ(found != nullptr, seen.kind != FileKind::missing) << name;
    if (found == nullptr) continue;
    EXPECT_EQ(found->resolved, seen.resolved) << name;
    EXPECT_EQ(found->links, seen.links) << name;
    EXPECT_EQ(found->inode, seen.inode) << name;
  }
}

// A name that only the file system takes for the one that is asked about: letters in another case, or ones
// that are not ASCII at all.
TEST_F(InspectorTest, WhereNamesMayBeTakenForOthersEachIsLookedFor) {
  file("home/.SSH");
  file("strange/.\xE2\x84\xAAube");
  // Neither is listed under its own name, so to find it later it must have been looked for.
  Inspector inspector;
  ask_for_others(inspector, "home");
  ask_for_others(inspector, "strange");
  file("home/.ssh");
  file("home/.kube");
  file("strange/.kube");
  EXPECT_NE(inspector.existing_below(path("home"), ".ssh"), nullptr);
  EXPECT_EQ(inspector.existing_below(path("home"), ".kube"), nullptr);  // listed before it was there
  EXPECT_NE(inspector.existing_below(path("strange"), ".kube"), nullptr);
}

TEST_F(InspectorTest, AFolderThatCantBeListedIsAskedForEachName) {
  file("home/.netrc");
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  fs::permissions(path("home"), fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec);
  constexpr uid_t kNobody = 65534;
  const bool was_root = ::geteuid() == 0;
  ASSERT_EQ(was_root ? ::seteuid(kNobody) : 0, 0);
  Inspector inspector;
  ask_for_others(inspector, "home");
  const PathFact* found = inspector.existing_below(path("home"), ".netrc");
  const bool listed = names_in(path("home"), 10).has_value();
  ASSERT_EQ(was_root ? ::seteuid(0) : 0, 0);
  fs::permissions(path("home"), fs::perms::owner_all);
  EXPECT_FALSE(listed);
  EXPECT_NE(found, nullptr);
}

TEST_F(InspectorTest, ACrowdedFolderIsAskedForEachName) {
  for (int i = 0; i < 1030; ++i) file(fmt::format("home/{}", i));
  file("home/.netrc");
  Inspector inspector;
  ask_for_others(inspector, "home");
  file("home/.kube");
  EXPECT_NE(inspector.existing_below(path("home"), ".kube"), nullptr);
  EXPECT_NE(inspector.existing_below(path("home"), ".netrc"), nullptr);
}

}  // namespace
}  // namespace exechost::plan

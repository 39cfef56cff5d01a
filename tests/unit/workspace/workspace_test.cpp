// A copy of a workspace, what is different in it, and carrying that over.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/workspace/apply.hpp"
#include "core/workspace/changes.hpp"
#include "core/workspace/copies.hpp"
#include "core/workspace/copy_folder.hpp"
#include "core/workspace/remove_tree.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/tree.hpp"

namespace exechost::workspace {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Workspace : public ::testing::Test {
 protected:
  Workspace() {
    fs::create_directories(real("src/deep"));
    write_file(real("file"), "old");
    write_file(real("run"), "#!/bin/sh\n", 0755);
    write_file(real("src/a"), "a");
    write_file(real("src/deep/b"), "b");
    fs::create_symlink("file", real("link"));
    fs::create_directory(real("empty"));
  }
  std::string real(const std::string& name) const { return folder_.path() + "/real/" + name; }
  std::string copy(const std::string& name) const { return state() + "/key/tree/" + name; }
  std::string state() const { return folder_.path() + "/state"; }

  void make() {
    auto made = CopyFolder::open_or_make(state(), "key", folder_.path() + "/real", options_, left_out_);
    ASSERT_TRUE(made.has_value()) << describe(made.error());
    held_.emplace(std::move(*made));
  }
  std::vector<Change> changes() {
    const auto base = load(held_->descriptor());
    const auto tree = held_->tree();
    EXPECT_TRUE(base.has_value());
    auto found = find_changes(*base, tree->get(), options_.limits);
    EXPECT_TRUE(found.has_value()) << describe(found.error());
    return found->changes;
  }
  std::vector<std::string> listed() {
    std::vector<std::string> lines;
    for (const Change& change : changes()) lines.push_back(std::string(to_string(change.kind)) + " " + change.path);
    return lines;
  }
  std::map<std::string, AppliedChange> apply(
      std::vector<std::string> paths = {},
      std::function<bool(const std::string&)> may_write = [](const auto&) { return true; }) {
    auto base = load(held_->descriptor());
    auto found = changes();
    auto applied = apply_changes(*base, held_->tree()->get(), found, {std::move(paths), std::move(may_write)});
    EXPECT_TRUE(applied.has_value()) << describe(applied.error());
    EXPECT_TRUE(save(*base, held_->descriptor()).has_value());
    std::map<std::string, AppliedChange> by_path;
    for (auto& change : *applied) by_path.emplace(change.change.path, change);
    return by_path;
  }

  test::TempFolder folder_{"/var/tmp", geteuid(), getegid()};
  MakeOptions options_;
  std::vector<std::string> left_out_;
  std::optional<CopyFolder> held_;
};

TEST_F(Workspace, TheCopyIsTheSameAndUnchanged) {
  ASSERT_EQ(::mkfifo(real("fifo").c_str(), 0600), 0);
  ::chmod(real("src/deep").c_str(), 0555);
  make();
  ::unlink(real("fifo").c_str());
  EXPECT_THAT(left_out_, ElementsAre("fifo"));
  EXPECT_EQ(test::changed_paths(test::describe_tree(real(""), test::Times::compare),
                                test::describe_tree(copy(""), test::Times::compare)),
            std::vector<std::string>{});
  EXPECT_THAT(listed(), IsEmpty());
  // Nobody else's business.
  struct stat status {};
  ASSERT_EQ(::stat(state().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ::chmod(real("src/deep").c_str(), 0755);
}

TEST_F(Workspace, EveryKindOfChangeIsFound) {
  make();
  write_file(copy("file"), "new");
  write_file(copy("src/new"), "n");
  fs::remove(copy("src/deep/b"));
  ::chmod(copy("run").c_str(), 0700);
  fs::remove(copy("link"));
  fs::create_symlink("run", copy("link"));
  fs::remove(copy("empty"));
  write_file(copy("empty"), "now a file");
  // The same content again, and another time of change, is no change.
  write_file(copy("src/a"), "a");
  EXPECT_THAT(listed(), ElementsAre("type_changed empty", "modified file", "modified link", "mode_changed run",
                                    "deleted src/deep/b", "added src/new"));
}

TEST_F(Workspace, ChangesAreCarriedOver) {
  make();
  write_file(copy("file"), "new", 0600);
  fs::create_directories(copy("more/deep"));
  write_file(copy("more/deep/x"), "x", 0755);
  fs::remove_all(copy("src"));
  ::chmod(copy("run").c_str(), 0700);
  fs::remove(copy("link"));
  fs::create_symlink("more/deep", copy("link"));
  fs::remove(copy("empty"));
  write_file(copy("empty"), "now a file");
  for (const auto& [path, change] : apply())
    EXPECT_EQ(change.outcome, ApplyOutcome::applied) << path << ": " << change.reason;
  EXPECT_EQ(test::changed_paths(test::describe_tree(real("")), test::describe_tree(copy(""))),
            std::vector<std::string>{});
  EXPECT_THAT(listed(), IsEmpty());
  // And goes on from there.
  write_file(copy("file"), "newer");
  EXPECT_EQ(apply().at("file").outcome, ApplyOutcome::applied);
  EXPECT_EQ(read_file(real("file")), "newer");
}

TEST_F(Workspace, OnlyTheChosen) {
  make();
  write_file(copy("file"), "new");
  write_file(copy("src/a"), "new");
  write_file(copy("src2"), "new");
  EXPECT_EQ(apply({"src"}).size(), 1U);
  EXPECT_EQ(read_file(real("src/a")), "new");
  EXPECT_EQ(read_file(real("file")), "old");
  EXPECT_FALSE(test::exists(real("src2")));
}

struct Conflict {
  const char* name;
  std::function<void(const Workspace&, const std::string& real, const std::string& copy)> both;  // paths with a slash
  const char* path;
};
class Conflicts : public Workspace, public ::testing::WithParamInterface<Conflict> {};

std::vector<Conflict> conflicts() {
  const auto write = [](const std::string& path, const std::string& content) { write_file(path, content); };
  return {
      {"both_modified",
       [write](auto&, auto& r, auto& c) {
         write(c + "file", "theirs");
         write(r + "file", "mine");
       },
       "file"},
      {"modified_and_same_size",
       [write](auto&, auto& r, auto& c) {
         write(c + "file", "one");
         write(r + "file", "two");
       },
       "file"},
      {"modified_and_deleted",
       [write](auto&, auto& r, auto& c) {
         write(c + "file", "theirs");
         fs::remove(r + "file");
       },
       "file"},
      {"deleted_and_modified",
       [write](auto&, auto& r, auto& c) {
         fs::remove(c + "file");
         write(r + "file", "mine");
       },
       "file"},
      {"both_added",
       [write](auto&, auto& r, auto& c) {
         write(c + "new", "theirs");
         write(r + "new", "mine");
       },
       "new"},
      {"added_where_a_folder_is",
       [write](auto&, auto& r, auto& c) {
         write(c + "new", "theirs");
         fs::create_directory(r + "new");
       },
       "new"},
      {"added_where_a_link_is",
       [write](auto&, auto& r, auto& c) {
         write(c + "new", "theirs");
         fs::create_symlink("file", r + "new");
       },
       "new"},
      {"folder_where_a_file_is",
       [write](auto&, auto& r, auto& c) {
         fs::create_directory(c + "new");
         write(r + "new", "mine");
       },
       "new"},
      {"modified_and_mode_changed",
       [write](auto&, auto& r, auto& c) {
         write(c + "file", "theirs");
         ::chmod((r + "file").c_str(), 0700);
       },
       "file"},
      {"mode_changed_and_modified",
       [write](auto&, auto& r, auto& c) {
         ::chmod((c + "file").c_str(), 0700);
         write(r + "file", "mine");
       },
       "file"},
      {"both_links",
       [](auto&, auto& r, auto& c) {
         fs::remove(c + "link");
         fs::create_symlink("run", c + "link");
         fs::remove(r + "link");
         fs::create_symlink("src", r + "link");
       },
       "link"},
      {"link_and_file",
       [write](auto&, auto& r, auto& c) {
         fs::remove(c + "link");
         fs::create_symlink("run", c + "link");
         fs::remove(r + "link");
         write(r + "link", "mine");
       },
       "link"},
      {"file_now_a_link_in_the_workspace",
       [write](auto&, auto& r, auto& c) {
         write(c + "file", "theirs");
         fs::remove(r + "file");
         fs::create_symlink("run", r + "file");
       },
       "file"},
      {"folder_not_empty_there",
       [write](auto&, auto& r, auto& c) {
         fs::remove(c + "empty");
         write(r + "empty/mine", "mine");
       },
       "empty"},
      {"folder_to_file_not_empty_there",
       [write](auto&, auto& r, auto& c) {
         fs::remove(c + "empty");
         write(c + "empty", "x");
         write(r + "empty/mine", "mine");
       },
       "empty"},
      {"parent_gone",
       [write](auto&, auto& r, auto& c) {
         write(c + "src/a", "theirs");
         fs::remove_all(r + "src");
       },
       "src/a"},
      {"parent_now_a_link",
       [write](auto&, auto& r, auto& c) {
         write(c + "src/a", "theirs");
         fs::rename(r + "src", r + "moved");
         fs::create_symlink("moved", r + "src");
       },
       "src/a"},
      {"parent_now_a_link_outside",
       [write](auto&, auto& r, auto& c) {
         write(c + "src/new", "theirs");
         fs::rename(r + "src", r + "../outside");
         fs::create_symlink("../outside", r + "src");
       },
       "src/new"},
      {"parent_now_a_file",
       [write](auto&, auto& r, auto& c) {
         write(c + "src/a", "theirs");
         fs::remove_all(r + "src");
         write(r + "src", "mine");
       },
       "src/a"},
  };
}
INSTANTIATE_TEST_SUITE_P(Of, Conflicts, ::testing::ValuesIn(conflicts()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(Conflicts, AreSaidAndNothingIsOverwritten) {
  make();
  GetParam().both(*this, real(""), copy(""));
  const auto before = test::describe_tree(folder_.path() + "/real");
  const auto applied = apply();
  ASSERT_TRUE(applied.contains(GetParam().path));
  EXPECT_EQ(applied.at(GetParam().path).outcome, ApplyOutcome::conflict) << applied.at(GetParam().path).reason;
  EXPECT_NE(applied.at(GetParam().path).reason, "");
  EXPECT_EQ(test::changed_paths(before, test::describe_tree(folder_.path() + "/real")), std::vector<std::string>{});
  EXPECT_FALSE(test::exists(folder_.path() + "/outside/new"));
  // It is still there to be looked at.
  EXPECT_THAT(listed(), ::testing::Contains(HasSubstr(GetParam().path)));
}

TEST_F(Workspace, WhatBothDidAlikeIsNoConflict) {
  make();
  for (const auto& side : {copy(""), real("")}) {
    write_file(side + "file", "same");
    write_file(side + "new", "same");
    fs::remove(side + "run");
    fs::create_directory(side + "folder");
  }
  // Touched, and the same: no reason to keep anybody's change back.
  write_file(real("src/a"), "a");
  write_file(copy("src/a"), "theirs");
  for (const auto& [path, change] : apply())
    EXPECT_EQ(change.outcome, ApplyOutcome::applied) << path << ": " << change.reason;
  EXPECT_EQ(read_file(real("src/a")), "theirs");
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(Workspace, WhatIsProtectedStays) {
  make();
  write_file(copy("file"), "new");
  write_file(copy(".exechost.json"), "{}");
  fs::create_symlink("/etc/passwd", copy("out"));
  fs::create_symlink("../../etc", copy("src/up"));
  fs::create_symlink("../file", copy("src/in"));
  const auto applied = apply({}, [](const std::string& path) { return path != "file"; });
  EXPECT_EQ(applied.at("file").outcome, ApplyOutcome::refused);
  EXPECT_EQ(applied.at(".exechost.json").outcome, ApplyOutcome::refused);
  EXPECT_EQ(applied.at("out").outcome, ApplyOutcome::refused);
  EXPECT_EQ(applied.at("src/up").outcome, ApplyOutcome::refused);
  EXPECT_EQ(applied.at("src/in").outcome, ApplyOutcome::applied);
  EXPECT_EQ(read_file(real("file")), "old");
  EXPECT_FALSE(test::exists(real(".exechost.json")));
  EXPECT_FALSE(test::exists(real("out")));
}

TEST_F(Workspace, AnotherFolderInItsPlaceIsNotWrittenInto) {
  make();
  write_file(copy("file"), "new");
  fs::rename(folder_.path() + "/real", folder_.path() + "/elsewhere");
  fs::create_directory(folder_.path() + "/real");
  auto base = load(held_->descriptor());
  const auto applied = apply_changes(*base, held_->tree()->get(), changes(), {{}, [](const auto&) { return true; }});
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().error_number, ESTALE);
  EXPECT_TRUE(fs::is_empty(folder_.path() + "/real"));
}

TEST_F(Workspace, TooMuchIsNoCopy) {
  const files::Limits limits[] = {{4, 1 << 20, 64}, {1000, 5, 64}, {1000, 1 << 20, 1}};
  for (const auto& limit : limits) {
    options_.limits = limit;
    const auto made = CopyFolder::open_or_make(state(), "key", folder_.path() + "/real", options_, left_out_);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().error_number, EFBIG);
    EXPECT_FALSE(test::exists(state() + "/key"));
  }
}

TEST_F(Workspace, OneThatIsHeldIsNotRemovedAndOrphansAre) {
  make();
  {
    auto second = CopyFolder::open(state(), "key");
    ASSERT_TRUE(second.has_value());
    const auto removed = held_->remove();
    ASSERT_FALSE(removed.has_value());
    EXPECT_EQ(removed.error().error_number, EBUSY);
  }
  CopyFolder::remove_orphans(state(), "ke");
  EXPECT_TRUE(test::exists(copy("file")));
  held_.reset();
  CopyFolder::remove_orphans(state(), "other");
  EXPECT_TRUE(test::exists(copy("file")));
  CopyFolder::remove_orphans(state(), "ke");
  EXPECT_TRUE(fs::is_empty(state()));
}

TEST_F(Workspace, StateThatIsOpenToOthersIsRefused) {
  fs::create_directory(state());
  ::chmod(state().c_str(), 0755);
  const auto made = CopyFolder::open_or_make(state(), "key", folder_.path() + "/real", options_, left_out_);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().kind, FailureKind::denied);
}

TEST_F(Workspace, ADamagedRecordIsSaid) {
  make();
  for (const char* content : {"", "x", "\xa1\x67version\x01"}) {
    write_file(state() + "/key/base", content);
    const auto base = load(held_->descriptor());
    ASSERT_FALSE(base.has_value());
    EXPECT_EQ(base.error().error_number, EBADMSG);
  }
}

TEST_F(Workspace, AnyTreeCanBeRemoved) {
  fs::create_directories(real("shut/in"));
  write_file(real("shut/in/x"), "x");
  ::chmod(real("shut/in").c_str(), 0);
  ::chmod(real("shut").c_str(), 0);
  // Deeper than there are descriptors, and than a path is long.
  const int top = ::open(folder_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  UniqueFd at(::openat(top, "real", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "deep-deep", 0755), 0);
    at.reset(::openat(at.get(), "deep-deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  at.reset();
  fs::create_directory(folder_.path() + "/outside");
  fs::create_symlink("../outside", real("to-outside"));
  const auto removed = remove_tree(top, "real");
  EXPECT_TRUE(removed.has_value()) << describe(removed.error());
  EXPECT_FALSE(test::exists(folder_.path() + "/real"));
  EXPECT_TRUE(test::exists(folder_.path() + "/outside"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
  ::close(top);
}

TEST_F(Workspace, ASessionHasOneCopyAndAProgramItsOwn) {
  const std::string workspace = folder_.path() + "/real";
  {
    Copies copies(state());
    ASSERT_TRUE(copies.prepare("named", workspace, options_, left_out_).has_value());
    ASSERT_TRUE(copies.prepare("", workspace, options_, left_out_).has_value());
    write_file(copies.tree_path("named") + "/file", "kept");
    const auto other = copies.prepare("named", folder_.path(), options_, left_out_);
    ASSERT_FALSE(other.has_value());
    EXPECT_EQ(other.error().kind, FailureKind::invalid_request);
    EXPECT_TRUE(test::exists(copies.tree_path("")));
  }
  Copies next(state());
  EXPECT_EQ(read_file(next.tree_path("named") + "/file"), "kept");
  EXPECT_EQ(std::distance(fs::directory_iterator(state()), {}), 1);
  ASSERT_TRUE(next.prepare("named", workspace, options_, left_out_).has_value());
  EXPECT_EQ(read_file(next.tree_path("named") + "/file"), "kept");
  ASSERT_TRUE(next.discard("named").has_value());
  EXPECT_TRUE(fs::is_empty(state()));
  EXPECT_FALSE(next.find("named").has_value());
}

}  // namespace
}  // namespace exechost::workspace

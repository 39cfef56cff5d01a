// Which files are read, and which are refused because somebody else could have written them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/settings/settings.hpp"

namespace exechost::settings {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "settings-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (const char* folder : {"system", "user", "project"}) fs::create_directory(root_ / folder);
    locations_ = {(root_ / "system").string(), (root_ / "user").string(), (root_ / "project").string()};
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path write(const std::string& name, std::string_view text, mode_t mode = 0644) {
    fs::path path = root_ / name;
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  // So that what another user is refused is the file, not the way to it.
  void open_to_all() {
    for (const char* folder : {"", "system", "user", "project"}) ASSERT_EQ(::chmod((root_ / folder).c_str(), 0755), 0);
  }
  std::string failure() {
    const auto result = read_files(locations_);
    if (result) return "";
    EXPECT_EQ(result.error().kind, FailureKind::invalid_request);
    return result.error().message;
  }

  fs::path root_;
  Locations locations_;
};

TEST_F(Files, NoneIsFine) {
  const auto documents = read_files(locations_);
  ASSERT_TRUE(documents);
  EXPECT_TRUE(documents->empty());
  EXPECT_TRUE(read_files({"/nowhere/at/all", "", "/dev/null/x"}));
}

TEST_F(Files, AllOfThemInOrder) {
  write("system/settings.json", R"({"image": "s"})");
  write("user/settings.json", R"({"image": "u"})", 0600);
  write("project/.exechost.json", R"({"strict": true})", 0400);
  write("system/managed.json", R"({"image": "m"})");
  const auto documents = read_files(locations_);
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 4U);
  const Scope scopes[] = {Scope::system, Scope::user, Scope::project, Scope::managed};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ((*documents)[i].scope, scopes[i]);
  EXPECT_EQ((*documents)[1].source, (root_ / "user/settings.json").string());
  EXPECT_EQ((*documents)[3].values["image"], "m");
}

TEST_F(Files, WritableByOthersIsRefused) {
  for (const mode_t mode : {0664U, 0646U, 0666U, 0622U, 0777U}) {
    for (const char* name :
         {"system/settings.json", "user/settings.json", "project/.exechost.json", "system/managed.json"}) {
      const fs::path path = write(name, "{}", mode);
      EXPECT_THAT(failure(), HasSubstr(path.string() + ": a settings file must not be writable by group or others"))
          << mode;
      fs::remove(path);
    }
  }
}

TEST_F(Files, AFolderThatOthersWriteIsRefused) {
  for (const char* name : {"system/settings.json", "user/settings.json", "system/managed.json"}) {
    const fs::path path = write(name, "{}");
    for (const mode_t mode : {0777U, 0757U, 0703U, 01777U}) {
      ASSERT_EQ(::chmod(path.parent_path().c_str(), mode), 0);
      EXPECT_THAT(failure(), HasSubstr(path.parent_path().string() + ": the folder of a settings file must not be"))
          << name << " " << mode;
    }
    ASSERT_EQ(::chmod(path.parent_path().c_str(), 0775), 0);
    EXPECT_EQ(failure(), "") << "a group is taken as the user's own";
    fs::remove(path);
  }
  write("project/.exechost.json", "{}");
  ASSERT_EQ(::chmod((root_ / "project").c_str(), 0777), 0);
  EXPECT_EQ(failure(), "") << "a project's file can only narrow";
}

TEST_F(Files, WhatIsManagedCouldHaveBeenTakenAway) {
  ASSERT_EQ(::chmod((root_ / "user").c_str(), 0777), 0);
  EXPECT_EQ(failure(), "") << "nothing is read from it";
  ASSERT_EQ(::chmod((root_ / "system").c_str(), 0777), 0);
  EXPECT_THAT(failure(), HasSubstr("must not be writable by others; its mode is 0777"));
}

TEST_F(Files, AFolderOfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to somebody else";
  write("user/settings.json", "{}");
  ASSERT_EQ(::chown((root_ / "user").c_str(), 12345, 12345), 0);
  EXPECT_THAT(failure(), HasSubstr("the folder of a settings file must belong to root or to user 0"));
}

TEST_F(Files, OfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to somebody else";
  const fs::path path = write("user/settings.json", "{}");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THAT(failure(), HasSubstr("must belong to root or to user 0; this one belongs to user 12345"));
}

TEST_F(Files, OfRootIsFineForAnybody) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as somebody else";
  write("user/settings.json", R"({"strict": true})");
  open_to_all();
  ASSERT_EQ(::seteuid(12345), 0);
  const auto documents = read_files(locations_);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(documents->size(), 1U);
}

TEST_F(Files, UnreadableIsAnErrorNotAbsence) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as somebody else";
  write("system/managed.json", R"({"strict": true})", 0600);
  open_to_all();
  ASSERT_EQ(::seteuid(12345), 0);
  const std::string message = failure();
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_THAT(message, HasSubstr("managed.json: can't be opened: Permission denied"));
}

TEST_F(Files, SymbolicLinkIsRefused) {
  const fs::path target = write("target.json", "{}");
  fs::create_symlink(target, root_ / "user/settings.json");
  EXPECT_THAT(failure(), HasSubstr("must not be a symbolic link"));
  fs::remove(root_ / "user/settings.json");
  fs::create_symlink("/nowhere", root_ / "project/.exechost.json");
  EXPECT_THAT(failure(), HasSubstr("must not be a symbolic link"));
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  fs::create_directory(root_ / "user/settings.json");
  EXPECT_THAT(failure(), HasSubstr("must be a regular file"));
  fs::remove(root_ / "user/settings.json");
  // A pipe that nobody writes: must not hang.
  ASSERT_EQ(::mkfifo((root_ / "project/.exechost.json").c_str(), 0600), 0);
  EXPECT_THAT(failure(), HasSubstr("must be a regular file"));
}

TEST_F(Files, TooLargeIsRefused) {
  const std::string fill(1024 * 1024 - 2, ' ');
  write("user/settings.json", "{" + fill + "}");
  EXPECT_EQ(failure(), "");
  write("user/settings.json", "{ " + fill + "}");
  EXPECT_THAT(failure(), HasSubstr("a settings file has at most 1048576 bytes"));
}

TEST_F(Files, ContentMustBeOneJsonObject) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1, column 1"},       {"[]", "must hold one JSON object"},
      {"{\"a\":1,\"a\":2}", "twice"}, {"{} // note", "line 1, column 4"},
      {"{\"a\":\n tru}", "line 2"},   {"\"text\"", "must hold one JSON object"},
  };
  for (const auto& [text, says] : cases) {
    const fs::path path = write("user/settings.json", text);
    EXPECT_THAT(failure(), HasSubstr(says)) << text;
    EXPECT_THAT(failure(), HasSubstr(path.string()));
  }
  write("user/settings.json", std::string(100'000, '['));
  EXPECT_THAT(failure(), HasSubstr("nest at most 64 deep"));
}

TEST_F(Files, HintSaysWhatToDo) {
  const fs::path path = write("user/settings.json", "{}", 0666);
  EXPECT_EQ(read_files(locations_).error().hint, "chmod go-w " + path.string());
}

}  // namespace
}  // namespace exechost::settings

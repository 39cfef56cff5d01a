#include "core/plugin/trust.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "tests/unit/plugin/temp_folder.hpp"

namespace exechost::plugin {
namespace {

using test::TempFolder;
using ::testing::HasSubstr;

class Trust : public ::testing::Test {
 protected:
  void refused(const std::string& path, const std::string& names, const std::string& rule, int error_number = 0) {
    const auto opened = open_trusted(path);
    ASSERT_FALSE(opened) << path << " was trusted";
    EXPECT_EQ(opened.error().kind, FailureKind::unavailable);
    EXPECT_THAT(opened.error().message, HasSubstr("\"" + names + "\""));
    EXPECT_THAT(opened.error().message, HasSubstr(rule));
    if (error_number != 0) {
      EXPECT_EQ(opened.error().error_number, error_number);
    }
  }

  TempFolder root_;
};

TEST_F(Trust, AFileOfOursIsOpened) {
  const std::string file = root_.write("a.so", "content");
  const auto opened = open_trusted(file);
  ASSERT_TRUE(opened) << opened.error().message;
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(opened->device, status.st_dev);
  EXPECT_EQ(opened->inode, status.st_ino);
  char text[16];
  ASSERT_EQ(::read(opened->fd.get(), text, sizeof text), 7);
  EXPECT_EQ(std::string_view(text, 7), "content");
}

TEST_F(Trust, DotsAndDoubleSlashesAreWalked) {
  root_.folder("sub");
  root_.write("a.so", "x");
  EXPECT_TRUE(open_trusted(root_.path() + "//./sub/../a.so"));
}

TEST_F(Trust, DotDotAtTheRootStaysThere) { EXPECT_TRUE(open_trusted("/../../etc/passwd")); }

TEST_F(Trust, WritableByOthersIsRefused) {
  const std::string world = root_.write("world.so", "x", 0646);
  refused(world, world, "is writable by others (mode 0646)");
  const std::string group = root_.write("group.so", "x", 0664);
  refused(group, group, "is writable by others (mode 0664)");
}

TEST_F(Trust, AWritableFolderAboveIsRefused) {
  const std::string folder = root_.folder("open");
  const std::string inner = root_.folder("open/inner");
  const std::string file = root_.write("open/inner/a.so", "x");
  ::chmod(folder.c_str(), 0777);
  refused(file, folder, "is writable by others (mode 0777) (on the way to \"" + file + "\")");
  // The sticky bit stops others from replacing files, not from adding the manifest that is missing.
  ::chmod(folder.c_str(), 01777);
  refused(file, folder, "is writable by others (mode 1777)");
  ::chmod(folder.c_str(), 0755);
  EXPECT_TRUE(open_trusted(file));
}

TEST_F(Trust, TheTemporaryFolderIsRefused) {
  struct stat status {};
  if (::stat("/tmp", &status) != 0 || (status.st_mode & S_IWOTH) == 0) GTEST_SKIP() << "/tmp is not shared here";
  refused("/tmp/a.so", "/tmp", "is writable by others");
}

TEST_F(Trust, AnotherUsersFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string file = root_.write("a.so", "x");
  ASSERT_EQ(::chown(file.c_str(), 4321, 0), 0);
  refused(file, file, "belongs to user 4321, not to root or to user 0");
  const std::string folder = root_.folder("theirs");
  const std::string inside = root_.write("theirs/a.so", "x");
  ASSERT_EQ(::chown(folder.c_str(), 4321, 0), 0);
  refused(inside, folder, "belongs to user 4321");
}

TEST_F(Trust, SetUserIdIsRefused) {
  refused(root_.write("suid.so", "x", 04755), root_ / "suid.so", "set-user-id");
  refused(root_.write("sgid.so", "x", 02755), root_ / "sgid.so", "set-group-id");
}

TEST_F(Trust, OnlyRegularFiles) {
  ASSERT_EQ(::mkfifo((root_ / "pipe.so").c_str(), 0600), 0);
  refused(root_ / "pipe.so", root_ / "pipe.so", "is not a regular file");
  refused(root_.folder("folder.so"), root_ / "folder.so", "is not a regular file");
  refused("/dev/null", "/dev/null", "is not a regular file");
}

TEST_F(Trust, ALinkAsTheLastComponentIsRefused) {
  root_.write("real.so", "x");
  ASSERT_EQ(::symlink("real.so", (root_ / "link.so").c_str()), 0);
  refused(root_ / "link.so", root_ / "link.so", "is a symbolic link", ELOOP);
}

TEST_F(Trust, LinksBeforeItAreFollowedAndTheirTargetsChecked) {
  root_.folder("real/deep");
  root_.write("real/deep/a.so", "x");
  ASSERT_EQ(::symlink("real", (root_ / "relative").c_str()), 0);
  ASSERT_EQ(::symlink((root_ / "real").c_str(), (root_ / "absolute").c_str()), 0);
  ASSERT_EQ(::symlink("../relative/deep", (root_ / "real/loop_back").c_str()), 0);
  EXPECT_TRUE(open_trusted(root_ / "relative/deep/a.so"));
  EXPECT_TRUE(open_trusted(root_ / "absolute/deep/a.so"));
  EXPECT_TRUE(open_trusted(root_ / "real/loop_back/a.so"));

  ::chmod((root_ / "real").c_str(), 0777);
  refused(root_ / "relative/deep/a.so", root_ / "real", "is writable by others");
  refused(root_ / "absolute/deep/a.so", root_ / "real", "is writable by others");
}

TEST_F(Trust, LinksThatGoInCirclesEnd) {
  ASSERT_EQ(::symlink("b", (root_ / "a").c_str()), 0);
  ASSERT_EQ(::symlink("a", (root_ / "b").c_str()), 0);
  refused(root_ / "a/x.so", root_ / "a", "is one of more than 40 links", ELOOP);
}

TEST_F(Trust, AFolderThatIsAFileIsRefused) {
  root_.write("file", "x");
  refused(root_ / "file/a.so", root_ / "file", "is not a folder", ENOTDIR);
}

TEST_F(Trust, WhatIsMissingIsNamed) {
  refused(root_ / "missing/a.so", root_ / "missing", "can't be opened", ENOENT);
  refused(root_ / "missing.so", root_ / "missing.so", "can't be opened", ENOENT);
}

TEST_F(Trust, OnlyAbsoluteFileNames) {
  refused("relative.so", "relative.so", "is not an absolute path");
  refused("", "", "is not an absolute path");
  refused("/", "/", "is not a file");
  refused(root_.path() + "/..", root_.path() + "/..", "is not a file");
  refused(std::string("/etc\0/passwd", 12), std::string("/etc\0/passwd", 12), "holds a NUL byte");
}

}  // namespace
}  // namespace exechost::plugin

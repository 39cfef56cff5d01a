#include "core/execution/spill.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support.hpp"

namespace exechost::execution {
namespace {

using test::ScratchFolder;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(Spill, KeepsEverythingInAPrivateFile) {
  const ScratchFolder scratch;
  const std::string folder = scratch.file("state/exechost/output");
  std::string path;
  {
    auto file = SpillFile::create(folder, "stdout");
    ASSERT_TRUE(file) << describe(file.error());
    ASSERT_TRUE(file->append("one "));
    ASSERT_TRUE(file->append(std::string_view("two\0", 4)));
    path = file->path();
    file->keep();
  }
  EXPECT_EQ(contents(path), std::string("one two\0", 8));
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST(Spill, IsRemovedUnlessKept) {
  const ScratchFolder scratch;
  { ASSERT_TRUE(SpillFile::create(scratch.path(), "stdout")); }
  EXPECT_EQ(files_in(scratch.path()), 0u);
  auto first = SpillFile::create(scratch.path(), "stdout");
  auto second = SpillFile::create(scratch.path(), "stdout");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(files_in(scratch.path()), 2u);
  *first = std::move(*second);
  EXPECT_EQ(files_in(scratch.path()), 1u) << "the overwritten one is removed";
}

TEST(Spill, RefusesAFolderOthersCanWrite) {
  const ScratchFolder scratch;
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0777), 0);
  const auto file = SpillFile::create(scratch.path(), "stdout");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, FailureKind::unavailable);
  EXPECT_THAT(file.error().message, ::testing::HasSubstr(scratch.path()));
}

TEST(Spill, RefusesALinkInPlaceOfTheFolder) {
  const ScratchFolder scratch;
  const std::string link = scratch.file("link");
  ASSERT_EQ(::symlink("/tmp", link.c_str()), 0);
  EXPECT_FALSE(SpillFile::create(link, "stdout"));
}

// In a child, since the limit is the process's.
TEST(Spill, AFullDiskIsAnErrorNotASignal) {
  const ScratchFolder scratch;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static_cast<void>(::signal(SIGXFSZ, SIG_IGN));
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto file = SpillFile::create(scratch.path(), "stdout");
    if (!file) ::_exit(1);
    auto written = file->append(std::string(10000, 'x'));
    if (written) ::_exit(2);
    ::_exit(written.error().error_number == EFBIG ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace exechost::execution

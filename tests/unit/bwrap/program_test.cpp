// Which bwrap is taken, and which is refused: rows P33 and P37.
#include "program.hpp"
#include "exechost_test_paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace exechost::bwrap {
namespace {

using testing::HasSubstr;

// A folder in the build tree: nothing above it is writable by others, unlike the usual place for
// temporary files.
class BwrapProgram : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = EXECHOST_BUILD_PREFIX "/bwrap-program-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(chmod(name.c_str(), 0755), 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string make_program(const std::string& name, mode_t mode) {
    std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n";
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string problem(const std::string& path) {
    const auto found = find_program(path);
    const auto* bad = std::get_if<ProgramProblem>(&found);
    if (bad == nullptr) return "accepted";
    EXPECT_FALSE(bad->hint.empty());
    return bad->message;
  }

  std::string folder_;
};

TEST_F(BwrapProgram, ATrustedOneIsAcceptedWithLinksResolved) {
  const std::string path = make_program("bwrap", 0755);
  std::filesystem::create_symlink(path, folder_ + "/link");
  const auto found = find_program(folder_ + "/link");
  ASSERT_TRUE(std::holds_alternative<Program>(found));
  EXPECT_EQ(std::get<Program>(found).path, std::filesystem::canonical(path));
}

TEST_F(BwrapProgram, AMissingOneIsNamed) { EXPECT_THAT(problem(folder_ + "/none"), HasSubstr(folder_ + "/none")); }

TEST_F(BwrapProgram, OneThatOthersMayWriteIsRefused) {
  EXPECT_THAT(problem(make_program("bwrap", 0777)), HasSubstr("writable by others"));
}

TEST_F(BwrapProgram, OneInAFolderThatOthersMayWriteIsRefused) {
  make_program("bwrap", 0755);
  ASSERT_EQ(chmod(folder_.c_str(), 01777), 0);
  EXPECT_THAT(problem(folder_ + "/bwrap"), HasSubstr("writable by others")) << "the sticky bit is no exemption";
}

TEST_F(BwrapProgram, OneThatIsNotExecutableIsRefused) {
  EXPECT_THAT(problem(make_program("bwrap", 0644)), HasSubstr("not executable"));
}

TEST_F(BwrapProgram, AFolderIsRefused) { EXPECT_THAT(problem(folder_), HasSubstr("not a regular file")); }

TEST_F(BwrapProgram, PathIsNeverSearched) {
  make_program("bwrap", 0755);
  const char* before = std::getenv("PATH");
  ASSERT_NE(before, nullptr);
  const std::string saved = before;
  ASSERT_EQ(setenv("PATH", folder_.c_str(), 1), 0);
  const auto found = find_program("");
  ASSERT_EQ(setenv("PATH", saved.c_str(), 1), 0);
  if (const auto* program = std::get_if<Program>(&found)) {
    EXPECT_NE(program->path, folder_ + "/bwrap");
  }
}

}  // namespace
}  // namespace exechost::bwrap

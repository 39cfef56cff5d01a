// What an environment says about its files may be anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "core/files/file_list.hpp"

namespace exechost::files {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(FileList, IsReadInAnyPieces) {
  const std::string said = "file 2541 5 1000000000 500 b%20%0A%FF\nlink 511 11 -3 0 a\n";
  for (std::size_t piece = 1; piece <= said.size(); ++piece) {
    FileList list(10);
    for (std::size_t at = 0; at < said.size(); at += piece) ASSERT_TRUE(list.add(said.substr(at, piece)));
    const auto entries = list.take();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].name, "a");
    EXPECT_EQ(entries[0].type, FileType::link);
    EXPECT_EQ(entries[0].modified, -3s);
    EXPECT_EQ(entries[1].name, "b \n\xff");
    EXPECT_EQ(entries[1].mode, 04755U);
    EXPECT_EQ(entries[1].size, 5U);
    EXPECT_EQ(entries[1].modified, 1'000'000'000s + 500ns);
  }
}

TEST(FileList, WhatIsNoneIsRefused) {
  for (const char* const said :
       {"\n", "file\n", "door 1 1 1 1 x\n", "file -1 1 1 1 x\n", "file 4096 1 1 1 x\n", "file 1 -1 1 1 x\n",
        "file 1 18446744073709551616 1 1 x\n", "file 1 1 1 1000000000 x\n", "file 1 1 1 -1 x\n", "file 1 1 x 1 x\n",
        "file  1 1 1 1 x\n", "file 1 1 99999999999999999999 1 x\n"}) {
    FileList list(10);
    EXPECT_FALSE(list.add(said)) << said;
    ASSERT_TRUE(list.failure()) << said;
    EXPECT_EQ(list.failure()->kind, FailureKind::protocol_error) << said;
    EXPECT_FALSE(list.add("file 1 1 1 1 x\n")) << "nothing counts after that";
  }
}

TEST(FileList, ALineWithoutAnEndAndATimeBeyondAllTimeAreBounded) {
  FileList endless(10);
  bool on = true;
  std::size_t taken = 0;
  for (; on && taken < 1'000'000; taken += 1000) on = endless.add(std::string(1000, 'x'));
  EXPECT_FALSE(on);
  EXPECT_LT(taken, 20'000U);
  FileList late(10);
  EXPECT_TRUE(late.add("file 1 1 9223372036854775807 999999999 x\nfile 1 1 -9223372036854775808 0 y\n"));
  EXPECT_GT(late.take().front().modified, 200LL * 365 * 24h);
}

TEST(FileList, MoreThanTheLimitIsRefusedByItsName) {
  FileList list(2);
  EXPECT_TRUE(list.add("file 1 1 1 1 a\nfile 1 1 1 1 b\n"));
  EXPECT_FALSE(list.add("file 1 1 1 1 c\n"));
  ASSERT_TRUE(list.failure());
  EXPECT_EQ(list.failure()->error_number, EFBIG);
  EXPECT_THAT(list.failure()->message, HasSubstr("files.max_entries"));
}

}  // namespace
}  // namespace exechost::files

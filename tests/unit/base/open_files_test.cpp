#include "core/base/open_files.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "core/base/unique_fd.hpp"

namespace exechost {
namespace {

class OpenFiles : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0); }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void limit(rlim_t count) const {
    const rlimit chosen{count, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &chosen), 0);
  }
  rlimit before_{};
};

TEST_F(OpenFiles, EnoughIsFineAndNothingIsKept) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(check_open_files());
}

// Open ones are counted wherever their numbers are.
TEST_F(OpenFiles, HighNumbersInUseAreNoShortage) {
  constexpr int kLimit = 200;
  limit(kLimit);
  std::vector<UniqueFd> open;
  for (int number = kLimit - 1; number > kLimit - 60; --number) open.emplace_back(::dup2(STDERR_FILENO, number));
  EXPECT_TRUE(check_open_files());
  for (int number = 0; number >= 0; number = open.back().get()) open.emplace_back(::dup(STDERR_FILENO));
  EXPECT_FALSE(check_open_files());
  open.resize(open.size() - kNeededOpenFiles);  // the last one is none
  EXPECT_FALSE(check_open_files());
  open.pop_back();
  EXPECT_TRUE(check_open_files());
}

TEST_F(OpenFiles, TooFewAreRefusedWithTheLimit) {
  for (const rlim_t count : {0U, 4U, 20U}) {
    limit(count);
    const auto enough = check_open_files();
    ASSERT_FALSE(enough) << count;
    EXPECT_EQ(enough.error().kind, FailureKind::unavailable);
    EXPECT_EQ(enough.error().error_number, EMFILE);
    EXPECT_NE(enough.error().message.find("ulimit -n (RLIMIT_NOFILE) is " + std::to_string(count)), std::string::npos)
        << enough.error().message;
  }
}

TEST_F(OpenFiles, OtherFailuresThatItIsTheReasonOfNameIt) {
  Failure failure;
  failure.message = "no pipe";
  failure.error_number = EMFILE;
  limit(77);
  name_open_files_limit(failure);
  EXPECT_NE(failure.hint.find("is 77"), std::string::npos) << failure.hint;
  failure.hint = "something else";
  failure.error_number = ENFILE;
  name_open_files_limit(failure);
  EXPECT_EQ(failure.hint, "something else");
}

}  // namespace
}  // namespace exechost

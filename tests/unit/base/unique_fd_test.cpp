#include "core/base/unique_fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace exechost {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }
int some_fd() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(UniqueFd, ClosesOnce) {
  const int raw = some_fd();
  ASSERT_GE(raw, 0);
  {
    UniqueFd first(raw);
    UniqueFd second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(second.get(), raw);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, AssignmentClosesWhatWasHeld) {
  const int one = some_fd();
  const int two = some_fd();
  UniqueFd fd(one);
  fd = UniqueFd(two);
  EXPECT_FALSE(is_open(one));
  EXPECT_TRUE(is_open(two));
  fd.reset();
  EXPECT_FALSE(is_open(two));
}

TEST(UniqueFd, ReleaseGivesItAway) {
  const int raw = some_fd();
  { EXPECT_EQ(UniqueFd(raw).release(), raw); }
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

}  // namespace
}  // namespace exechost

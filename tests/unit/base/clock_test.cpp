#include "core/base/clock.hpp"

#include <gtest/gtest.h>

#include <climits>

namespace exechost {
namespace {

using namespace std::chrono_literals;

TEST(Clock, NeverGoesBack) {
  std::int64_t last = monotonic_now_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = monotonic_now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, DeadlineIsNowPlusSpan) {
  const std::int64_t before = monotonic_now_ns();
  const std::int64_t deadline = deadline_after(5s);
  const std::int64_t after = monotonic_now_ns();
  EXPECT_GE(deadline, before + 5'000'000'000);
  EXPECT_LE(deadline, after + 5'000'000'000);
}

TEST(Clock, DeadlineSaturates) {
  EXPECT_EQ(deadline_after(std::chrono::nanoseconds::max()), kNoDeadline);
  EXPECT_EQ(deadline_after(std::chrono::nanoseconds(kNoDeadline - 1)), kNoDeadline);
}

TEST(Clock, PollTimeout) {
  EXPECT_EQ(poll_timeout_ms(kNoDeadline), -1);
  EXPECT_EQ(poll_timeout_ms(0), 0);
  EXPECT_EQ(poll_timeout_ms(monotonic_now_ns() - 1), 0);
  // Rounded up, so that poll never returns before the deadline and spins.
  const int left = poll_timeout_ms(deadline_after(3600s));
  EXPECT_GT(left, 3'590'000);
  EXPECT_LE(left, 3'600'000);
  EXPECT_EQ(poll_timeout_ms(kNoDeadline - 1), INT_MAX);
}

}  // namespace
}  // namespace exechost

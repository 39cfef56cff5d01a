#include "core/host/crash_history.hpp"

#include <gtest/gtest.h>

namespace exechost::host {
namespace {

using namespace std::chrono_literals;

TEST(CrashHistory, TheFirstCostsNothing) {
  CrashHistory history;
  const CrashHistory::Time now{1h};
  EXPECT_EQ(history.wait(now), 0ms);
  history.add(now);
  EXPECT_EQ(history.wait(now), 0ms);
}

TEST(CrashHistory, EachFurtherOneWaitsLongerAndTheFifthIsTheLast) {
  CrashHistory history;
  const CrashHistory::Time now{1h};
  history.add(now);
  std::chrono::milliseconds before = 0ms;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(history.is_hopeless());
    history.add(now);
    EXPECT_GT(history.wait(now), before);
    before = history.wait(now);
    EXPECT_LT(history.wait(now + 100ms), before);
    EXPECT_EQ(history.wait(now + before), 0ms);
  }
  history.add(now + 1s);
  EXPECT_TRUE(history.is_hopeless());
  history.add(now + 24h);
  EXPECT_TRUE(history.is_hopeless());
  EXPECT_EQ(history.count(), 5u);
}

TEST(CrashHistory, OldOnesAreForgotten) {
  CrashHistory history;
  CrashHistory::Time now{1h};
  for (int i = 0; i < 20; ++i) {
    history.add(now);
    now += 11min;
  }
  EXPECT_EQ(history.count(), 1u);
  EXPECT_EQ(history.wait(now), 0ms);
}

}  // namespace
}  // namespace exechost::host

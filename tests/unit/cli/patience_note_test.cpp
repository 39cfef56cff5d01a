#include "cli/patience_note.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace exechost::cli {
namespace {

using namespace std::chrono_literals;

TEST(PatienceNote, SpeaksWhenItStillWaits) {
  std::promise<void> said;
  const PatienceNote note(
      1ms, [] { return true; }, [&said] { said.set_value(); });
  EXPECT_EQ(said.get_future().wait_for(10s), std::future_status::ready);
}

TEST(PatienceNote, IsSilentWhenTheWaitIsOver) {
  std::promise<void> asked;
  std::atomic<bool> said = false;
  {
    const PatienceNote note(
        1ms,
        [&asked] {
          asked.set_value();
          return false;
        },
        [&said] { said = true; });
    ASSERT_EQ(asked.get_future().wait_for(10s), std::future_status::ready);
  }
  EXPECT_FALSE(said);
}

TEST(PatienceNote, EndsAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const PatienceNote note(
        1h, [] { return true; }, [] { FAIL(); });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1min);
}

}  // namespace
}  // namespace exechost::cli

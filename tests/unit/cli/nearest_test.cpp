#include "cli/nearest.hpp"

#include <gtest/gtest.h>

namespace exechost::cli {
namespace {

const std::vector<std::string> kKnown{"--timeout", "--memory", "--network", "--tty", "--json"};

TEST(Nearest, FindsASlip) {
  EXPECT_EQ(nearest("--timout", kKnown), "--timeout");   // a letter is missing
  EXPECT_EQ(nearest("--memoryy", kKnown), "--memory");   // one too many
  EXPECT_EQ(nearest("--netwrok", kKnown), "--network");  // two swapped
  EXPECT_EQ(nearest("--jsin", kKnown), "--json");        // another letter
  EXPECT_EQ(nearest("--memory", kKnown), "--memory");    // none
}

TEST(Nearest, DoesNotGuessWild) {
  EXPECT_EQ(nearest("--frobnicate", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest("--json", {}), "");
}

TEST(Nearest, IsCheapForHugeWords) { EXPECT_EQ(nearest(std::string(1'000'000, 'a'), kKnown), ""); }

}  // namespace
}  // namespace exechost::cli

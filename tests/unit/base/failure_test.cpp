#include "exechost/failure.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace exechost {
namespace {

TEST(Failure, EveryKindHasANameAndComesBack) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(FailureKind::plugin_crashed); ++i) {
    const auto kind = static_cast<FailureKind>(i);
    const auto name = to_string(kind);
    EXPECT_NE(name, "unknown");
    EXPECT_TRUE(names.insert(name).second) << name;
    // A fallback that is not the answer, so that a failed look-up shows.
    const auto other = kind == FailureKind::denied ? FailureKind::unsupported : FailureKind::denied;
    EXPECT_EQ(failure_kind_from(name, other), kind);
  }
  EXPECT_EQ(names.size(), 9U);
}

TEST(Failure, EveryPhaseHasANameAndComesBack) {
  for (int i = 0; i <= static_cast<int>(Phase::cleanup); ++i) {
    const auto phase = static_cast<Phase>(i);
    EXPECT_NE(to_string(phase), "unknown");
    EXPECT_EQ(phase_from(to_string(phase), phase == Phase::plan ? Phase::run : Phase::plan), phase);
  }
}

TEST(Failure, UnknownNamesReadAsTheFallback) {
  EXPECT_EQ(failure_kind_from("splendid"), FailureKind::protocol_error);
  EXPECT_EQ(failure_kind_from("", FailureKind::denied), FailureKind::denied);
  EXPECT_EQ(failure_kind_from("Denied", FailureKind::unavailable), FailureKind::unavailable);
  EXPECT_EQ(phase_from("nowhere", Phase::spawn), Phase::spawn);
}

TEST(Failure, Started) {
  EXPECT_EQ(to_string(Started::no), "no");
  EXPECT_EQ(to_string(Started::yes), "yes");
  EXPECT_EQ(to_string(Started::unknown), "unknown");
}

TEST(Failure, Describe) {
  Failure failure;
  failure.message = "it broke";
  EXPECT_EQ(describe(failure), "it broke");
  failure.hint = "mend it";
  EXPECT_EQ(describe(failure), "it broke (mend it)");
}

}  // namespace
}  // namespace exechost

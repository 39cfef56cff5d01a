#include "core/settings/text.hpp"

#include <gtest/gtest.h>

namespace exechost::settings {
namespace {

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("memory", "memory", 2), 0U);
  EXPECT_EQ(edit_distance("memroy", "memory", 2), 1U);  // neighbours swapped
  EXPECT_EQ(edit_distance("memry", "memory", 2), 1U);
  EXPECT_EQ(edit_distance("memooory", "memory", 2), 2U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3U);  // limit + 1
  EXPECT_EQ(edit_distance("", "ab", 2), 2U);
  EXPECT_EQ(edit_distance(std::string(100'000, 'a'), std::string(100'000, 'a'), 2), 3U);  // not even looked at
}

TEST(Text, NearestName) {
  const std::vector<std::string> names{"cpu", "memory", "disk", "pids"};
  EXPECT_EQ(nearest_name("memori", names), "memory");
  EXPECT_EQ(nearest_name("cpus", names), "cpu");
  EXPECT_EQ(nearest_name("xy", names), std::nullopt);
  EXPECT_EQ(nearest_name("bandwidth", names), std::nullopt);
  EXPECT_EQ(did_you_mean("dsk", names), " (did you mean disk?)");
  EXPECT_EQ(did_you_mean("bandwidth", names), "");
}

TEST(Text, ValuesAreSafeForATerminalAndShort) {
  EXPECT_EQ(show_value(std::string_view("a\x1B[2Jb")), "\"a\\u{1b}[2Jb\"");
  EXPECT_EQ(show_value(nlohmann::json("\xFF")), "\"\xEF\xBF\xBD\"");
  const std::string shown = show_value(nlohmann::json(std::string(1000, 'x')));
  EXPECT_EQ(shown.size(), 83U);
  EXPECT_TRUE(shown.ends_with("..."));
}

}  // namespace
}  // namespace exechost::settings

#include "core/base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace exechost {
namespace {

using namespace std::string_view_literals;

TEST(Utf8, AcceptsWhatRfc3629Allows) {
  for (const auto text :
       {""sv, "plain"sv, "\0"sv, "\x7F"sv, "\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv, "\xED\x9F\xBF"sv,
        "\xEE\x80\x80"sv, "\xEF\xBF\xBF"sv, "\xF0\x90\x80\x80"sv, "\xF4\x8F\xBF\xBF"sv}) {
    EXPECT_TRUE(is_valid_utf8(text)) << escape_for_terminal(text);
    EXPECT_EQ(to_valid_utf8(text), text);
  }
}

TEST(Utf8, RefusesEverythingElse) {
  for (const auto text : {"\x80"sv, "\xBF"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xC2"sv, "\xE0\x9F\xBF"sv, "\xE2\x82"sv,
                          "\xED\xA0\x80"sv, "\xED\xBF\xBF"sv, "\xF0\x8F\xBF\xBF"sv, "\xF4\x90\x80\x80"sv,
                          "\xF5\x80\x80\x80"sv, "\xFE"sv, "\xFF"sv, "a\xC2z"sv}) {
    EXPECT_FALSE(is_valid_utf8(text)) << escape_for_terminal(text);
    EXPECT_TRUE(is_valid_utf8(to_valid_utf8(text)));
  }
}

TEST(Utf8, ReplacesOnlyTheBadBytes) {
  EXPECT_EQ(to_valid_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_valid_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8, TerminalTextCantRewriteWhatIsAroundIt) {
  EXPECT_EQ(escape_for_terminal("caf\xC3\xA9 100%"), "caf\xC3\xA9 100%");
  EXPECT_EQ(escape_for_terminal("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(escape_for_terminal("\x1B[2J"), "\\u{1b}[2J");
  EXPECT_EQ(escape_for_terminal("\r"), "\\u{d}");
  EXPECT_EQ(escape_for_terminal("\xC2\x9B"), "\\u{9b}");  // C1: CSI in one character
  // NOLINTBEGIN(misc-misleading-bidirectional): they have to mislead
  EXPECT_EQ(escape_for_terminal("\xE2\x80\xAE"), "\\u{202e}");  // right-to-left override
  EXPECT_EQ(escape_for_terminal("\xE2\x81\xA6"), "\\u{2066}");  // isolate
  // NOLINTEND(misc-misleading-bidirectional)
  EXPECT_EQ(escape_for_terminal("\xEF\xBB\xBF"), "\\u{feff}");
  EXPECT_EQ(escape_for_terminal("\xFF"), "\\xff");
  EXPECT_EQ(escape_for_terminal("\0"sv), "\\u{0}");
}

}  // namespace
}  // namespace exechost

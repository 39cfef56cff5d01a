#include "cli/text_table.hpp"

#include <gtest/gtest.h>

namespace exechost::cli {
namespace {

TEST(TextTable, AlignsColumns) {
  EXPECT_EQ(text_table({{"ID", "STATE"}, {"bwrap", "ready", "x"}, {"m\xC3\xBCx", "no"}}),
            "ID     STATE\nbwrap  ready  x\nm\xC3\xBCx    no\n");
}

TEST(TextTable, EscapesWhatWouldRewriteTheTerminal) {
  EXPECT_EQ(text_table({{"a\x1b[2Jb"}}).find('\x1b'), std::string::npos);
}

TEST(TextTable, OfNothingIsNothing) { EXPECT_EQ(text_table({}), ""); }

}  // namespace
}  // namespace exechost::cli

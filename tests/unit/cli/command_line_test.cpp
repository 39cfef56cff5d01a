#include "cli/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace exechost::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::string_literals;

TEST(CommandLine, KeepsTheCommandByteForByte) {
  const std::vector<std::string> command{"-x", "--", "", "a\nb", "\xff\xfe", "--json", "=", "$(id)", "*"};
  std::vector<std::string> arguments{"run", "--quiet", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());

  const CommandLine line = split_command_line(arguments);

  EXPECT_THAT(line.options, ElementsAre("run", "--quiet"));
  EXPECT_TRUE(line.has_command);
  EXPECT_EQ(line.command, command);
}

TEST(CommandLine, NothingAfterTheSeparatorIsACommandWithoutWords) {
  const CommandLine line = split_command_line({"run", "--"});
  EXPECT_TRUE(line.has_command);
  EXPECT_THAT(line.command, IsEmpty());
}

TEST(CommandLine, WithoutASeparatorThereIsNoCommand) {
  const CommandLine line = split_command_line({"run", "ls"});
  EXPECT_FALSE(line.has_command);
  EXPECT_THAT(line.options, ElementsAre("run", "ls"));
}

TEST(CommandLine, AnEmptyValueStaysAValue) {
  const CommandLine line =
      split_command_line({"run", "--image=", "--json", "--env", "A=", "--set=a=", "--", "--image="});
  EXPECT_THAT(line.options, ElementsAre("run", "--image", "", "--json", "--env", "A=", "--set=a="));
  EXPECT_THAT(line.command, ElementsAre("--image="));
}

TEST(CommandLine, MentionsLooksOnlyBeforeTheSeparator) {
  EXPECT_TRUE(split_command_line({"run", "--json", "--", "x"}).mentions("--json"));
  EXPECT_FALSE(split_command_line({"run", "--", "x", "--json"}).mentions("--json"));
}

}  // namespace
}  // namespace exechost::cli

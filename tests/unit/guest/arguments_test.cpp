// Arguments and environment reach the command byte for byte.
#include <sys/wait.h>

#include <cerrno>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

using Arguments = InEveryPlace;
INSTANTIATE_TEST_SUITE_P(Guest, Arguments, testing::ValuesIn(every_place_and_served()), name_of);

constexpr std::size_t kLongestArgument = 128 * 1024 - 1;  // MAX_ARG_STRLEN without its NUL

std::string joined(const std::vector<std::string>& items) {
  std::string all;
  for (const auto& item : items) all.append(item).push_back('\0');
  return all;
}

TEST_P(Arguments, AnyBytes) {
  std::string every_byte;
  for (int i = 1; i < 256; ++i) every_byte += static_cast<char>(i);
  const std::vector<std::string> arguments = {"",
                                              "",
                                              "a b",
                                              "line\nline\n",
                                              "-n",
                                              "--",
                                              "'\"$(x)`y`\\",
                                              "\xff\xfe\x80",
                                              every_byte,
                                              std::string(kLongestArgument, 'x'),
                                              ""};
  std::vector<std::string> all = {programs_.probe("argument_dump"), "args"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  GuestProcess guest(programs_, spec_of(all), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_TRUE(guest.out() == joined(arguments));
}

TEST_P(Arguments, OneMebibyteInAll) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 1024; ++i)
    arguments.push_back(std::string(1015, static_cast<char>('a' + i % 26)) + std::to_string(i));
  std::vector<std::string> all = {programs_.probe("argument_dump"), "args"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  GuestProcess guest(programs_, spec_of(all), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_TRUE(guest.out() == joined(arguments));
}

TEST_P(Arguments, TooLongIsTheKernelsAnswer) {
  GuestProcess guest(programs_, spec_of({"/bin/true", std::string(kLongestArgument + 1, 'x')}), here());
  ASSERT_TRUE(guest.finish());
  const Message* failed = guest.find(MessageType::failed);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->step, Step::exec);
  EXPECT_EQ(failed->error_number, E2BIG);
}

TEST_P(Arguments, TheEnvironmentIsExactlyTheGivenOne) {
  const std::vector<std::string> variables = {
      "PATH=/usr/bin", "A=", "A=second", "EMPTY=", "B==x=", "N=l1\nl2", "b\xff=\x80", "lower=case"};
  SpecWriter spec;
  spec.add_argument(programs_.probe("argument_dump"));
  spec.add_argument("env");
  for (const auto& variable : variables) spec.add_environment(variable);
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), joined(variables));
}

TEST_P(Arguments, AnEmptyEnvironmentIsPossible) {
  SpecWriter spec;
  spec.add_argument(programs_.probe("argument_dump"));
  spec.add_argument("env");
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "");
  ASSERT_NE(guest.find(MessageType::exited), nullptr);
  EXPECT_EQ(guest.find(MessageType::exited)->wait_status, 0);
}

}  // namespace
}  // namespace exechost::guest::test

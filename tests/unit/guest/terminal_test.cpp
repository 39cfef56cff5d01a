// A command on a terminal.
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

using Terminal = InEveryPlace;
INSTANTIATE_TEST_SUITE_P(Guest, Terminal, testing::ValuesIn(every_place_and_served()), name_of);

GuestOptions on_terminal(const Place& place) {
  GuestOptions options;
  options.place = place;
  options.tty = true;
  return options;
}

TEST_P(Terminal, IsTheControllingOne) {
  SpecWriter spec = shell("test -t 0 && test -t 1 && test -t 2 && echo terminals; echo direct >/dev/tty");
  spec.set_tty(true);
  GuestProcess guest(programs_, spec, on_terminal(GetParam()));
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "terminals\r\ndirect\r\n");
  ASSERT_NE(guest.find(MessageType::exited), nullptr);
  EXPECT_EQ(guest.find(MessageType::exited)->wait_status, 0);
}

TEST_P(Terminal, TheInterruptCharacterReachesTheCommand) {
  SpecWriter spec = shell("trap 'echo interrupted; exit 9' INT; echo up; while :; do sleep 0.05; done");
  spec.set_tty(true);
  GuestProcess guest(programs_, spec, on_terminal(GetParam()));
  ASSERT_TRUE(guest.wait_for_output("up"));
  guest.write_input("\x03");
  ASSERT_TRUE(guest.finish());
  EXPECT_NE(guest.out().find("interrupted"), std::string::npos);
  ASSERT_NE(guest.find(MessageType::exited), nullptr);
  EXPECT_EQ(WEXITSTATUS(guest.find(MessageType::exited)->wait_status), 9);
}

TEST_P(Terminal, WithoutOneThereIsNoDevTty) {
  GuestProcess guest(programs_, shell("exec 3<>/dev/tty"), here());
  ASSERT_TRUE(guest.finish());
  ASSERT_NE(guest.find(MessageType::exited), nullptr);
  EXPECT_NE(guest.find(MessageType::exited)->wait_status, 0);
  EXPECT_NE(guest.err().find("/dev/tty"), std::string::npos);
}

TEST_P(Terminal, APipeCantBeOne) {
  SpecWriter spec = shell("echo not reached");
  spec.set_tty(true);
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  ASSERT_NE(guest.find(MessageType::failed), nullptr);
  EXPECT_EQ(guest.find(MessageType::failed)->step, Step::terminal);
  EXPECT_EQ(guest.find(MessageType::failed)->error_number, ENOTTY);
  EXPECT_EQ(guest.out(), "");
}

}  // namespace
}  // namespace exechost::guest::test

// Nothing of a command outlives it, and nothing inside can hurt process 1.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

using Tree = InEveryPlace;
INSTANTIATE_TEST_SUITE_P(Guest, Tree, testing::ValuesIn(every_place_and_served()), name_of);

// A daemon: own session, parent gone. It says "up" once it is out of everybody's sight.
constexpr char kDaemon[] = "(setsid sh -c 'sh -c \"echo up; exec sleep 1000\" &' &) ; ";

int exit_status(const GuestProcess& guest) {
  const Message* exited = guest.find(MessageType::exited);
  return exited == nullptr ? -1 : exited->wait_status;
}

// finish() waits for the end of the command's standard output, which every descendant holds.
TEST_P(Tree, ADaemonDiesWithTheCommand) {
  GuestOptions options = here();
  options.keep_input_open = true;
  GuestProcess guest(programs_, shell(std::string(kDaemon) + "read line; exit 7"), std::move(options));
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  guest.write_input("go\n");
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(WEXITSTATUS(exit_status(guest)), 7);
  EXPECT_EQ(guest.guest_status(), 0);
}

TEST_P(Tree, KillTakesEverything) {
  GuestProcess guest(programs_, shell(std::string(kDaemon) + "trap '' TERM INT HUP; sleep 1000"), here());
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  guest.kill();
  ASSERT_TRUE(guest.finish());
  ASSERT_TRUE(WIFSIGNALED(exit_status(guest)));
  EXPECT_EQ(WTERMSIG(exit_status(guest)), SIGKILL);
  EXPECT_EQ(guest.guest_status(), 0);
}

TEST_P(Tree, AClosedControlSocketKillsEverything) {
  GuestProcess guest(programs_, shell(std::string(kDaemon) + "sleep 1000"), here());
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  guest.close_control();
  EXPECT_TRUE(guest.finish());
}

TEST_P(Tree, AMalformedPacketKillsEverything) {
  for (const std::size_t size : {std::size_t{1}, sizeof(Message) - 1, sizeof(Message) + 1, std::size_t{4096}}) {
    GuestProcess guest(programs_, shell(std::string(kDaemon) + "sleep 1000"), here());
    ASSERT_TRUE(guest.wait_for_output("up\n"));
    const std::string junk(size, '\1');
    ASSERT_EQ(::send(guest.control(), junk.data(), junk.size(), MSG_NOSIGNAL), static_cast<ssize_t>(size));
    EXPECT_TRUE(guest.finish());
  }
}

TEST_P(Tree, StoppedProcessesDieToo) {
  GuestProcess guest(programs_,
                     shell("(setsid sh -c 'sh -c \"kill -STOP \\$\\$\" & echo up; kill -STOP $$' &); kill -STOP $$"),
                     here());
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  guest.kill();
  ASSERT_TRUE(guest.finish());
  EXPECT_TRUE(WIFSIGNALED(exit_status(guest)));
}

TEST_P(Tree, ASignalGoesToTheWholeGroupAndOnlyToIt) {
  GuestOptions options = here();
  options.keep_input_open = true;
  const std::string script =
      "sh -c 'trap \"echo child; exit\" TERM; echo one; while :; do sleep 0.05; done' & "
      "setsid sh -c 'trap \"echo other\" TERM; echo two; while :; do sleep 0.05; done' & "
      "trap 'echo main' TERM; echo three; wait; wait $!; exit 3";
  GuestProcess guest(programs_, shell(script), std::move(options));
  for (const char* line : {"one\n", "two\n", "three\n"}) ASSERT_TRUE(guest.wait_for_output(line));
  guest.signal(SIGTERM);
  ASSERT_TRUE(guest.wait_for_output("main\n"));
  ASSERT_TRUE(guest.wait_for_output("child\n"));
  EXPECT_EQ(guest.out().find("other"), std::string::npos);
  guest.kill();
  ASSERT_TRUE(guest.finish());
}

TEST_P(Tree, ASignalThatEndsTheCommand) {
  GuestProcess guest(programs_, shell("echo up; exec sleep 1000"), here());
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  guest.signal(SIGINT);
  ASSERT_TRUE(guest.finish());
  ASSERT_TRUE(WIFSIGNALED(exit_status(guest)));
  EXPECT_EQ(WTERMSIG(exit_status(guest)), SIGINT);
}

TEST_P(Tree, SignalNumbersOutOfRangeAreIgnored) {
  GuestOptions options = here();
  options.keep_input_open = true;
  GuestProcess guest(programs_, shell("echo up; read line; exit 5"), std::move(options));
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  for (const int number : {0, -1, -9, 65, 1 << 30}) guest.signal(number);
  guest.write_input("go\n");
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(WEXITSTATUS(exit_status(guest)), 5);
}

TEST_P(Tree, ManyGenerationsInOwnSessions) {
  GuestOptions options = here();
  options.keep_input_open = true;
  const std::string script =
      "gen() { if [ $1 -gt 0 ]; then (setsid sh -c \"$2\" sh $(($1-1)) \"$2\" &); fi; }; "
      "f='if [ $1 -gt 0 ]; then (setsid sh -c \"$2\" sh $(($1-1)) \"$2\" &) ; else echo deep; fi; exec sleep 1000'; "
      "sh -c \"$f\" sh 20 \"$f\" & read line";
  GuestProcess guest(programs_, shell(script), std::move(options));
  ASSERT_TRUE(guest.wait_for_output("deep\n"));
  guest.write_input("go\n");
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.guest_status(), 0);
}

// More children end at once than one round of reaping takes, and orphans with them.
TEST_P(Tree, ManyChildrenAtOnce) {
  GuestProcess guest(programs_,
                     shell("i=0; while [ $i -lt 300 ]; do (sleep 1000 & exit 0) & i=$((i+1)); done; wait; echo up; "
                           "kill -9 0"),
                     here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "up\n");
  ASSERT_TRUE(WIFSIGNALED(exit_status(guest)));
  EXPECT_EQ(guest.guest_status(), 0);
}

// A command of the same user can lower the limits of a guest that no filter protects. That must
// not make it deaf.
TEST_P(Tree, TheGuestLivesWithoutDescriptorsToSpare) {
  SpecWriter spec;
  spec.add_argument("/bin/sh");
  spec.add_argument("-c");
  spec.add_argument("prlimit --pid $PPID --nofile=0:0 && echo up; sleep 1000");
  spec.add_environment("PATH=/usr/bin:/bin");
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  guest.signal(SIGURG);  // wakes it
  guest.signal(SIGTERM);
  ASSERT_TRUE(guest.finish());
  ASSERT_TRUE(WIFSIGNALED(exit_status(guest)));
  EXPECT_EQ(WTERMSIG(exit_status(guest)), SIGTERM);
  EXPECT_EQ(guest.guest_status(), 0);
}

// Whoever kills the guest (only possible where it is not process 1) does not free the command.
TEST(TreeAsProcess, TheCommandDiesWithTheGuest) {
  StagedPrograms programs;
  GuestOptions options;
  options.place = {false, ::geteuid() == 0};
  GuestProcess guest(programs, shell("echo up; kill -9 $PPID; exec sleep 1000"), std::move(options));
  EXPECT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "up\n");
  EXPECT_TRUE(WIFSIGNALED(guest.guest_status()));
}

// conformance P13, P14, P16: process 1 is out of reach from inside.
using ProcessOne = InEveryPlace;
INSTANTIATE_TEST_SUITE_P(Guest, ProcessOne, testing::Values(Place{true, true}, Place{true, false}), name_of);

TEST_P(ProcessOne, IsOutOfReach) {
  SpecWriter spec = spec_of({programs_.probe("init_probe")});
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  ASSERT_THAT(guest.types(), testing::ElementsAre(MessageType::confined, MessageType::started, MessageType::exited));
  EXPECT_EQ(exit_status(guest), 0) << guest.err();
  EXPECT_EQ(guest.guest_status(), 0);
  std::map<std::string, int> errors;
  std::istringstream lines(guest.out());
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    errors[row.at("name")] = row.at("errno");
  }
  EXPECT_TRUE(errors.contains("survived"));
  for (const char* name : {"mem_write", "mem_read", "fd_link", "fd_control", "environ", "maps", "cwd", "root",
                           "ptrace_attach", "ptrace_seize", "vm_read", "vm_write", "pidfd_getfd", "prlimit"}) {
    ASSERT_TRUE(errors.contains(name)) << name;
    EXPECT_TRUE(errors[name] == EPERM || errors[name] == EACCES) << name << " errno " << errors[name];
  }
}

// Without the filter as well: not being dumpable is what keeps the memory shut.
TEST_P(ProcessOne, IsOutOfReachWithoutAFilter) {
  SpecWriter spec;
  spec.add_argument(programs_.probe("init_probe"));
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(exit_status(guest), 0) << guest.err();
  EXPECT_EQ(guest.guest_status(), 0);
  for (const char* name : {"mem_write", "mem_read", "fd_link", "ptrace_attach", "vm_write", "pidfd_getfd"}) {
    EXPECT_NE(guest.out().find("\"" + std::string(name) + "\",\"result\":-1"), std::string::npos) << guest.out();
  }
}

}  // namespace
}  // namespace exechost::guest::test

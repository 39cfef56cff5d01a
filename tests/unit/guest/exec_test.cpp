// How a command starts and ends, through the real guest.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

using testing::ElementsAre;
using Exec = InEveryPlace;
INSTANTIATE_TEST_SUITE_P(Guest, Exec, testing::ValuesIn(every_place_and_served()), name_of);

TEST_P(Exec, ReportsTheExitCode) {
  for (const int code : {0, 1, 42, 127}) {
    GuestProcess guest(programs_, shell("exit " + std::to_string(code)), here());
    ASSERT_TRUE(guest.finish());
    ASSERT_THAT(guest.types(), ElementsAre(MessageType::confined, MessageType::started, MessageType::exited));
    const int status = guest.find(MessageType::exited)->wait_status;
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), code);
    EXPECT_EQ(guest.guest_status(), 0);
  }
}

TEST_P(Exec, ReportsTheSignalRaw) {
  for (const int number : {SIGTERM, SIGKILL, SIGSEGV, SIGPIPE}) {
    GuestProcess guest(programs_, shell("ulimit -c 0; kill -" + std::to_string(number) + " $$"), here());
    ASSERT_TRUE(guest.finish());
    ASSERT_NE(guest.find(MessageType::exited), nullptr);
    const int status = guest.find(MessageType::exited)->wait_status;
    ASSERT_TRUE(WIFSIGNALED(status)) << number;
    EXPECT_EQ(WTERMSIG(status), number);
  }
}

TEST_P(Exec, ReportsUsageOfTheCommand) {
  GuestProcess guest(programs_, shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"), here());
  ASSERT_TRUE(guest.finish());
  const Message* exited = guest.find(MessageType::exited);
  ASSERT_NE(exited, nullptr);
  EXPECT_GT(exited->user_time_us + exited->system_time_us, 0);
  EXPECT_GT(exited->max_rss_bytes, 64 * 1024);
}

// step, errno, and nothing started.
void expect_failed(GuestProcess& guest, Step step, int error) {
  ASSERT_TRUE(guest.finish());
  const Message* failed = guest.find(MessageType::failed);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->step, step);
  EXPECT_EQ(failed->error_number, error);
  EXPECT_EQ(guest.find(MessageType::started), nullptr);
  EXPECT_EQ(guest.find(MessageType::exited), nullptr);
  EXPECT_TRUE(WIFEXITED(guest.guest_status()));
  EXPECT_EQ(WEXITSTATUS(guest.guest_status()), 1);
}

TEST_P(Exec, AProgramThatIsNotThere) {
  for (const char* name : {"/no/such/program", "no-such-program", ""}) {
    GuestProcess guest(programs_, spec_of({name}), here());
    expect_failed(guest, Step::exec, ENOENT);
  }
}

TEST_P(Exec, AProgramThatCantBeExecuted) {
  const std::string file = programs_.folder() + "/plain";
  std::ofstream(file) << "#!/bin/sh\n";
  GuestProcess by_path(programs_, spec_of({file}), here());
  expect_failed(by_path, Step::exec, EACCES);
  SpecWriter searched;
  searched.add_argument("plain");
  searched.add_environment("PATH=/nowhere:" + programs_.folder());
  GuestProcess by_name(programs_, searched, here());
  expect_failed(by_name, Step::exec, EACCES);
  GuestProcess folder(programs_, spec_of({"/usr"}), here());
  expect_failed(folder, Step::exec, EACCES);
}

TEST_P(Exec, AFolderOfPathThatCantBeSearchedHidesNoEnoent) {
  // Modes are nothing to a real root with capabilities, but the guest has none.
  const std::string closed = programs_.folder() + "/closed";
  ASSERT_EQ(::mkdir(closed.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  SpecWriter spec;
  spec.add_argument("no-such-program");
  spec.add_environment("PATH=" + closed + ":/usr/bin");
  GuestProcess guest(programs_, spec, here());
  expect_failed(guest, Step::exec, ENOENT);
}

TEST_P(Exec, AScriptWithoutAnInterpreterLineGoesToTheShell) {
  const std::string file = programs_.folder() + "/script";
  std::ofstream(file) << "echo from $0 with $1\n";
  ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  GuestProcess guest(programs_, spec_of({file, "this"}), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "from " + file + " with this\n");
}

TEST_P(Exec, PathIsSearchedInTheGivenEnvironment) {
  SpecWriter spec;
  spec.add_argument("argument_dump");
  spec.add_argument("env");
  spec.add_environment("PATH=/nowhere:" + programs_.folder());
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), std::string("PATH=/nowhere:" + programs_.folder()) + '\0');
}

TEST_P(Exec, WorkingDirectory) {
  SpecWriter spec = shell("pwd");
  spec.set_working_directory("/usr/bin");
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "/usr/bin\n");

  SpecWriter missing = shell("pwd");
  missing.set_working_directory("/no/such/folder");
  GuestProcess nowhere(programs_, missing, here());
  expect_failed(nowhere, Step::working_directory, ENOENT);

  SpecWriter file = shell("pwd");
  file.set_working_directory("/etc/passwd");
  GuestProcess not_a_folder(programs_, file, here());
  expect_failed(not_a_folder, Step::working_directory, ENOTDIR);
}

TEST_P(Exec, StandardInputIsExactAndEnds) {
  GuestOptions options = here();
  for (int i = 0; i < 300'000; ++i) options.input += static_cast<char>(i * 7);
  const std::string expected = options.input;
  GuestProcess guest(programs_, spec_of({"cat"}), std::move(options));
  ASSERT_TRUE(guest.finish());
  EXPECT_TRUE(guest.out() == expected) << guest.out().size() << " bytes of " << expected.size();
}

TEST_P(Exec, OutputAndErrorAreSeparate) {
  GuestProcess guest(programs_, shell("echo one; echo two >&2"), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "one\n");
  EXPECT_EQ(guest.err(), "two\n");
}

TEST_P(Exec, StdioUnderOtherNumbers) {
  GuestOptions options = here();
  options.other_numbers = true;
  options.input = "given";
  GuestProcess guest(programs_, shell("cat; echo two >&2; ls /proc/self/fd >&2"), std::move(options));
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "given");
  EXPECT_EQ(guest.err(), "two\n0\n1\n2\n3\n");
}

// The other end of a pipe sees at once that the command has closed its own.
TEST_P(Exec, TheGuestKeepsNoPipeOfTheCommandOpen) {
  GuestOptions options = here();
  options.keep_input_open = true;
  GuestProcess guest(programs_, shell("exec 2>&- <&-; echo closed; kill -STOP $$"), std::move(options));
  ASSERT_TRUE(guest.wait_for_output("closed\n"));
  EXPECT_TRUE(guest.wait_for_closed_error());
  EXPECT_TRUE(guest.wait_for_refused_input());
  EXPECT_EQ(guest.find(MessageType::exited), nullptr);
  guest.kill();
  ASSERT_TRUE(guest.finish());
}

TEST_P(Exec, OnlyItsThreeDescriptors) {
  int leaked[2];
  ASSERT_EQ(::pipe2(leaked, O_CLOEXEC), 0);
  const UniqueFd first(leaked[0]), second(leaked[1]);
  GuestOptions options = here();
  options.leaked = {leaked[0], leaked[1]};
  GuestProcess guest(programs_, spec_of({"ls", "/proc/self/fd"}), std::move(options));
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "0\n1\n2\n3\n");  // 3 is the folder that ls reads
}

TEST_P(Exec, SignalsAreAsInAFreshProcess) {
  GuestProcess guest(programs_, spec_of({"cat", "/proc/self/status"}), here());
  ASSERT_TRUE(guest.finish());
  for (const char* set : {"SigBlk", "SigIgn", "SigCgt"}) {
    EXPECT_NE(guest.out().find(std::string(set) + ":\t0000000000000000\n"), std::string::npos) << guest.out();
  }
}

TEST_P(Exec, UmaskAndLimits) {
  const std::string script = "umask; ulimit -Sn; ulimit -Hn; ulimit -Hc";
  SpecWriter spec = shell(script);
  spec.set_umask(077);
  spec.add_rlimit(RLIMIT_NOFILE, 64);
  spec.add_rlimit(RLIMIT_CORE, 0);
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "0077\n64\n64\n0\n");

  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
  SpecWriter higher = shell("umask; ulimit -Hn");
  higher.add_rlimit(RLIMIT_NOFILE, own.rlim_max + 1000);
  GuestProcess unchanged(programs_, higher, here());
  ASSERT_TRUE(unchanged.finish());
  EXPECT_EQ(unchanged.out(), "0022\n" + std::to_string(own.rlim_max) + "\n");
}

// A limit is the command's: one that would end the guest as well must not take its report away.
TEST_P(Exec, ALimitHitsTheCommandAndNotTheGuest) {
  SpecWriter spec = shell("ulimit -c 0; while :; do :; done");
  spec.add_rlimit(RLIMIT_CPU, 1);
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  ASSERT_NE(guest.find(MessageType::exited), nullptr);
  const int status = guest.find(MessageType::exited)->wait_status;
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU) << WTERMSIG(status);
}

TEST(GuestUsage, WithoutAControlSocketItSaysSo) {
  StagedPrograms programs;
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd read_end(fds[0]), write_end(fds[1]);
  for (const char* mode : {"exec", "serve", "--help"}) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      ::dup2(fds[1], 2);
      ::close(3);
      ::execl(programs.guest().c_str(), "exechost-guest", mode, nullptr);
      ::_exit(121);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 2);
    char text[512] = {};
    ASSERT_GT(::read(fds[0], text, sizeof text - 1), 0);
    EXPECT_NE(std::string(text).find("usage: exechost-guest"), std::string::npos);
  }
}

}  // namespace
}  // namespace exechost::guest::test

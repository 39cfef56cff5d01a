// Landlock as the command meets it.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "tests/unit/guest/support/guest_process.hpp"

namespace exechost::guest::test {
namespace {

namespace fs = std::filesystem;

long kernel_abi() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U); }

class Landlock : public InEveryPlace {
 protected:
  void SetUp() override {
    if (kernel_abi() < 1) GTEST_SKIP() << "this kernel has no Landlock";
    InEveryPlace::SetUp();
    for (const char* name : {"open", "closed"}) {
      fs::create_directory(path(name));
      fs::permissions(path(name), fs::perms(0777));
      std::ofstream(path(name) + "/file") << "content\n";
      fs::permissions(path(name) + "/file", fs::perms(0666));
    }
  }
  std::string path(const std::string& name) const { return programs_.folder() + "/" + name; }
  SpecWriter confined(const std::string& script) const {
    SpecWriter spec = shell(script, {path("open"), path("closed")});
    spec.set_landlock(true);
    for (const char* readable : {"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/no/such/path"}) {
      spec.add_landlock_read(readable);
    }
    spec.add_landlock_write("/dev/null");
    spec.add_landlock_write(path("open"));
    return spec;
  }
};
INSTANTIATE_TEST_SUITE_P(Guest, Landlock, testing::ValuesIn(every_place()), name_of);

TEST_P(Landlock, IsReportedWithItsAbi) {
  GuestProcess guest(programs_, confined("exit 0"), here());
  ASSERT_TRUE(guest.finish());
  ASSERT_NE(guest.find(MessageType::confined), nullptr);
  EXPECT_EQ(guest.find(MessageType::confined)->landlock_abi, static_cast<std::uint32_t>(kernel_abi()));
  EXPECT_EQ(guest.find(MessageType::exited)->wait_status, 0);
}

TEST_P(Landlock, EverythingBelowAWritablePath) {
  GuestProcess guest(
      programs_,
      confined("set -e; cd $1; cat file >/dev/null; echo x >>file; mkdir a b; echo y >a/new; mv a/new b/; "
               "ln b/new hard; ln -s b soft; mkfifo fifo; chmod 755 b; : >file; rm -r a b hard soft fifo; "
               "echo done"),
      here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "done\n") << guest.err();
}

TEST_P(Landlock, NothingElsewhere) {
  const std::string script =
      "try() { if \"$@\" 2>/dev/null; then echo \"succeeded: $*\"; fi; }\n"
      "try sh -c 'read x <\"$0/file\"' $2\n"
      "try sh -c 'echo x >>\"$0/file\"' $2\n"
      "try sh -c 'echo x >\"$0/new\"' $2\n"
      "try ls $2\ntry mkdir $2/folder\ntry rm $2/file\ntry ln -s x $2/link\ntry mv $1/file $2/moved\n"
      "try ln $1/file $2/hard\ntry truncate -s 0 $2/file\ntry mkfifo $2/fifo\n"
      "try sh -c 'echo x >/etc/new-file'\ntry touch /usr/new-file\n"
      "cat $1/file";
  GuestProcess guest(programs_, confined(script), here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "content\n");
  EXPECT_TRUE(fs::exists(path("closed") + "/file"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path("closed")), fs::directory_iterator{}), 1);
}

TEST_P(Landlock, WithoutARuleNothingStarts) {
  SpecWriter spec = spec_of({"/bin/true"});
  spec.set_landlock(true);
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  ASSERT_NE(guest.find(MessageType::failed), nullptr);
  EXPECT_EQ(guest.find(MessageType::failed)->step, Step::exec);
  EXPECT_EQ(guest.find(MessageType::failed)->error_number, EACCES);
}

// A rule on a single file gives what files have, and the rest of its folder stays shut.
TEST_P(Landlock, ARuleOnAFile) {
  SpecWriter spec = confined("echo x >>$2/file && cat $2/file; ls $2 2>/dev/null; echo y >$2/new");
  spec.add_landlock_write(path("closed") + "/file");
  GuestProcess guest(programs_, spec, here());
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "content\nx\n");
  EXPECT_FALSE(fs::exists(path("closed") + "/new"));
}

// Where it is not process 1: a PID namespace hides the processes outside anyway.
class LandlockScope : public Landlock {};
INSTANTIATE_TEST_SUITE_P(Guest, LandlockScope, testing::Values(Place{false, true}, Place{false, false}), name_of);

TEST_P(LandlockScope, SignalsStayInside) {
  if (kernel_abi() < 6) GTEST_SKIP() << "this kernel's Landlock (ABI " << kernel_abi() << ") has no signal scope";
  // A process outside with the same user: where the place changes the user, that one.
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const UniqueFd read_end(ready[0]);
  UniqueFd write_end(ready[1]);
  const pid_t outside = ::fork();
  ASSERT_GE(outside, 0);
  if (outside == 0) {
    enter(GetParam());
    ::close(ready[1]);
    ::pause();
    ::_exit(0);
  }
  write_end.reset();
  char nothing = 0;
  ASSERT_EQ(::read(ready[0], &nothing, 1), 0);
  const std::string script =
      "kill -0 " + std::to_string(outside) + " 2>/dev/null && echo outside; kill -0 $$ && echo inside";
  GuestProcess guest(programs_, confined(script), here());
  EXPECT_TRUE(guest.finish());
  EXPECT_EQ(guest.out(), "inside\n");
  GuestProcess without(programs_, shell(script), here());
  EXPECT_TRUE(without.finish());
  EXPECT_EQ(without.out(), "outside\ninside\n");
  ::kill(outside, SIGKILL);
  ::waitpid(outside, nullptr, 0);
}

// Landlock must not keep the guest from finding and killing what it supervises.
TEST_P(Landlock, TheTreeIsStillKilled) {
  GuestOptions options = here();
  options.keep_input_open = true;
  SpecWriter spec = shell("(setsid sh -c 'echo up; exec sleep 1000' &); read line");
  spec.set_landlock(true);
  for (const char* readable : {"/usr", "/bin", "/lib", "/lib64"}) spec.add_landlock_read(readable);  // no /proc
  spec.add_landlock_write("/dev/null");
  GuestProcess guest(programs_, spec, std::move(options));
  ASSERT_TRUE(guest.wait_for_output("up\n"));
  guest.write_input("go\n");
  ASSERT_TRUE(guest.finish());
  EXPECT_EQ(guest.guest_status(), 0);
}

}  // namespace
}  // namespace exechost::guest::test

// What a child of the launcher gets, and every defect of Boost.Process that its recipe avoids.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/keeper/process_launcher.hpp"
#include "tests/unit/keeper/support.hpp"

namespace exechost::keeper {
namespace {

using test::becomes_readable;
using test::Pipe;
using test::read_all;
using test::read_line;

ProcessSpec spec_of(std::vector<std::string> argv, int out = -1) {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.descriptors = {-1, out, -1};
  return spec;
}

ProcessSpec shell(const std::string& script, int out = -1) { return spec_of({"/bin/sh", "-c", script}, out); }

int wait_status(Process& process) {
  EXPECT_TRUE(becomes_readable(process.pidfd()));
  int status = -1;
  EXPECT_EQ(process.try_wait(status), ProcessState::ended);
  return status;
}

// Runs it to its end and gives what it wrote.
std::string output_of(ProcessSpec spec) {
  Pipe out;
  spec.descriptors.at(1) = out.write.get();
  auto process = make_process_launcher()->launch(spec);
  if (!process) {
    ADD_FAILURE() << describe(process.error());
    return {};
  }
  out.write.reset();
  std::string text = read_all(out.read.get());
  EXPECT_EQ(wait_status(**process), 0);
  return text;
}

TEST(Launcher, ReportsTheRawWaitStatus) {
  const auto launcher = make_process_launcher();
  auto exits = launcher->launch(shell("exit 42"));
  ASSERT_TRUE(exits) << describe(exits.error());
  EXPECT_EQ(wait_status(**exits), W_EXITCODE(42, 0));
  auto dies = launcher->launch(shell("kill -TERM $$"));
  ASSERT_TRUE(dies) << describe(dies.error());
  EXPECT_EQ(wait_status(**dies), SIGTERM);
  int again = 0;
  EXPECT_EQ((*dies)->try_wait(again), ProcessState::ended);
  EXPECT_EQ(again, SIGTERM);
}

TEST(Launcher, PassesArgumentsAndEnvironmentAsBytes) {
  ProcessSpec spec = spec_of({"/usr/bin/printf", "%s|", "", "a b", "\xff\xfe", "new\nline", "'\"$"});
  EXPECT_EQ(output_of(spec), "|a b|\xff\xfe|new\nline|'\"$|");
  spec = spec_of({"/usr/bin/env", "-0"});
  spec.environment = {"B=2", "A=", "X=\xc3\x28\n", "B=3"};
  using namespace std::string_literals;
  EXPECT_EQ(output_of(spec), "B=2\0A=\0X=\xc3\x28\n\0B=3\0"s);
}

TEST(Launcher, PassesLargeArguments) {
  ProcessSpec spec = shell("echo $# ${#15}");
  spec.argv.insert(spec.argv.end(), {"sh"});
  for (int index = 0; index < 15; ++index) spec.argv.emplace_back(100UL * 1024, 'x');
  EXPECT_EQ(output_of(spec), "15 102400\n");
}

TEST(Launcher, GivesOwnSessionAndDefaultSignals) {
  // What the parent ignores and blocks must not reach the child.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t blocked;
  sigset_t mask_before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);
  const std::string text =
      output_of(spec_of({"/bin/grep", "-E", "^Sig(Blk|Ign|Cgt)|^NSsid|^Pid|^NSpgid", "/proc/self/status"}));
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  std::map<std::string, std::string> fields;
  std::istringstream lines(text);
  for (std::string name, value; lines >> name >> value;) fields[name] = value;
  EXPECT_EQ(fields["SigBlk:"], "0000000000000000") << text;
  EXPECT_EQ(fields["SigIgn:"], "0000000000000000") << text;
  EXPECT_EQ(fields["NSsid:"], fields["Pid:"]) << text;
  EXPECT_EQ(fields["NSpgid:"], fields["Pid:"]) << text;
}

// Defect 1: inheritable descriptors reach the child.
TEST(Launcher, ChildHasExactlyItsDescriptors) {
  UniqueFd leaky[3];
  for (int index = 0; index < 3; ++index) {
    leaky[index].reset(::dup2(STDIN_FILENO, 50 + index));
    ASSERT_TRUE(leaky[index]);
    ASSERT_EQ(::fcntl(leaky[index].get(), F_GETFD), 0) << "not inheritable: the test would show nothing";
  }
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(output_of(spec_of({"/bin/ls", "-1", "/proc/self/fd"})), "0\n1\n2\n3\n");
  ProcessSpec spec = spec_of({"/bin/ls", "-1", "/proc/self/fd"});
  spec.descriptors.resize(5, -1);
  EXPECT_EQ(output_of(spec), "0\n1\n2\n3\n4\n5\n");
}

// Defect 2: closing A's stdin gives no end-of-file while a sibling B lives.
TEST(Launcher, SiblingDoesNotHoldPipesOpen) {
  const auto launcher = make_process_launcher();
  Pipe a_in;
  Pipe b_in;
  ProcessSpec a = spec_of({"/bin/cat"});
  a.descriptors[0] = a_in.read.get();
  ProcessSpec b = spec_of({"/bin/cat"});
  b.descriptors[0] = b_in.read.get();
  auto first = launcher->launch(a);
  auto second = launcher->launch(b);
  ASSERT_TRUE(first && second);
  a_in.write.reset();
  EXPECT_EQ(wait_status(**first), 0);
  int status = 0;
  EXPECT_EQ((*second)->try_wait(status), ProcessState::running);
}

// Defect 3: two threads that wait for two children disturb each other.
TEST(Launcher, WaitsInThreadsAreIndependent) {
  const auto launcher = make_process_launcher();
  Pipe in[2];
  std::unique_ptr<Process> children[2];
  for (int index = 0; index < 2; ++index) {
    ProcessSpec spec = spec_of({"/bin/sh", "-c", "read x; exit " + std::to_string(10 + index)});
    spec.descriptors[0] = in[index].read.get();
    auto process = launcher->launch(spec);
    ASSERT_TRUE(process);
    children[index] = std::move(*process);
  }
  int statuses[2] = {-1, -1};
  std::thread second([&] { statuses[1] = wait_status(*children[1]); });
  std::thread first([&] { statuses[0] = wait_status(*children[0]); });
  in[0].write.reset();
  first.join();
  int status = 0;
  EXPECT_EQ(children[1]->try_wait(status), ProcessState::running);
  in[1].write.reset();
  second.join();
  EXPECT_EQ(statuses[0], W_EXITCODE(10, 0));
  EXPECT_EQ(statuses[1], W_EXITCODE(11, 0));
}

// Defect 4: a failed exec leaves a zombie. Also: which step, and which errno.
TEST(Launcher, FailedStartSaysWhyAndLeavesNoZombie) {
  const auto launcher = make_process_launcher();
  const auto missing = launcher->launch(spec_of({"/nonexistent/program"}));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, FailureKind::spawn_failed);
  EXPECT_EQ(missing.error().step, "exec");
  EXPECT_EQ(missing.error().error_number, ENOENT);
  EXPECT_NE(missing.error().message.find("/nonexistent/program"), std::string::npos);
  const auto forbidden = launcher->launch(spec_of({"/etc/passwd"}));
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().error_number, EACCES);
  ProcessSpec nowhere = shell("true");
  nowhere.working_directory = "/nonexistent";
  const auto no_folder = launcher->launch(nowhere);
  ASSERT_FALSE(no_folder);
  EXPECT_EQ(no_folder.error().step, "chdir");
  EXPECT_EQ(no_folder.error().error_number, ENOENT);
  ProcessSpec closed = shell("true");
  closed.descriptors[2] = 987;
  const auto bad_descriptor = launcher->launch(closed);
  ASSERT_FALSE(bad_descriptor);
  EXPECT_EQ(bad_descriptor.error().step, "descriptors");
  EXPECT_EQ(bad_descriptor.error().error_number, EBADF);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// A failed exec must be told even when the child's own descriptors fill all low numbers, and must
// write into none of them.
TEST(Launcher, FailedStartWithManyDescriptorsTouchesNone) {
  const auto launcher = make_process_launcher();
  Pipe pipe;
  ProcessSpec spec = spec_of({"/nonexistent/program"});
  spec.descriptors.assign(kMaxChildDescriptors, pipe.write.get());
  const auto failed = launcher->launch(spec);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error_number, ENOENT);
  pipe.write.reset();
  EXPECT_EQ(read_all(pipe.read.get()), "");
}

// Defect 8: with SIGCHLD ignored an invented status is reported.
TEST(Launcher, LostStatusIsSaidToBeLost) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  EXPECT_FALSE(child_statuses_are_discarded());
  ::sigaction(SIGCHLD, &ignore, &before);
  EXPECT_TRUE(child_statuses_are_discarded());
  Pipe in;
  ProcessSpec spec = spec_of({"/bin/cat"});
  spec.descriptors[0] = in.read.get();
  auto process = make_process_launcher()->launch(spec);
  ASSERT_TRUE(process);
  int status = 4711;
  EXPECT_EQ((*process)->try_wait(status), ProcessState::running);
  in.write.reset();
  EXPECT_TRUE(becomes_readable((*process)->pidfd()));
  EXPECT_EQ((*process)->try_wait(status), ProcessState::lost);
  EXPECT_EQ(status, 4711);
  ::sigaction(SIGCHLD, &before, nullptr);
}

// Defect 9: closing handles closes the standard streams too. And sources whose numbers are other
// targets' must not overwrite each other.
TEST(Launcher, DescriptorsMayCollideWithTargets) {
  Pipe three;
  Pipe four;
  // The pipes' write ends at 4 and 3, to be the child's 3 and 4.
  const UniqueFd saved3(::fcntl(3, F_DUPFD_CLOEXEC, 100));
  const UniqueFd saved4(::fcntl(4, F_DUPFD_CLOEXEC, 100));
  const UniqueFd write3(::fcntl(three.write.get(), F_DUPFD_CLOEXEC, 100));
  const UniqueFd write4(::fcntl(four.write.get(), F_DUPFD_CLOEXEC, 100));
  const UniqueFd read3(::fcntl(three.read.get(), F_DUPFD_CLOEXEC, 100));
  const UniqueFd read4(::fcntl(four.read.get(), F_DUPFD_CLOEXEC, 100));
  three = Pipe();
  four = Pipe();
  ASSERT_EQ(::dup2(write3.get(), 4), 4);
  ASSERT_EQ(::dup2(write4.get(), 3), 3);
  ProcessSpec spec = shell("echo to three >&3; echo to four >&4");
  spec.descriptors = {-1, -1, -1, 4, 3};
  auto process = make_process_launcher()->launch(spec);
  if (saved3) {
    ::dup2(saved3.get(), 3);
  } else {
    ::close(3);
  }
  if (saved4) {
    ::dup2(saved4.get(), 4);
  } else {
    ::close(4);
  }
  ASSERT_TRUE(process) << describe(process.error());
  EXPECT_EQ(wait_status(**process), 0);
  EXPECT_EQ(read_line(read3.get()), "to three");
  EXPECT_EQ(read_line(read4.get()), "to four");
}

// Defect 11: the pipe that tells of a failed exec leaks into children of other threads, and the
// launch then waits for their end.
TEST(Launcher, LaunchDoesNotWaitForOtherThreadsChildren) {
  Pipe hold;  // children of the other thread live until its write end is closed
  std::vector<pid_t> others;
  std::thread forker([&] {
    for (int index = 0; index < 60; ++index) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        char* const argv[] = {const_cast<char*>("cat"), nullptr};
        ::dup2(hold.read.get(), STDIN_FILENO);
        ::execv("/bin/cat", argv);
        ::_exit(1);
      }
      others.push_back(pid);
    }
  });
  const auto launcher = make_process_launcher();
  const std::int64_t begin = monotonic_now_ns();
  for (int index = 0; index < 60; ++index) {
    auto process = launcher->launch(shell("true"));
    ASSERT_TRUE(process);
    EXPECT_EQ(wait_status(**process), 0);
  }
  EXPECT_LT(monotonic_now_ns() - begin, 60'000'000'000);
  forker.join();
  hold.write.reset();
  for (const pid_t pid : others) EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

// Defect 12, here a promise: the destructor kills and reaps.
TEST(Launcher, DestroyingKillsAndReaps) {
  auto process = make_process_launcher()->launch(spec_of({"/bin/sleep", "1000"}));
  ASSERT_TRUE(process);
  const int pid = (*process)->pid();
  EXPECT_EQ(::kill(pid, 0), 0);
  process->reset();
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

// Defect 14: signals go to a number that may be somebody else's by now.
TEST(Launcher, SignalsNeverReachAnotherProcess) {
  auto process = make_process_launcher()->launch(spec_of({"/bin/sleep", "1000"}));
  ASSERT_TRUE(process);
  EXPECT_TRUE((*process)->signal(SIGINT));
  EXPECT_EQ(wait_status(**process), SIGINT);
  const auto late = (*process)->signal(SIGTERM);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().error_number, ESRCH);
}

TEST(Launcher, ChildDiesWithTheLaunchingThread) {
  std::unique_ptr<Process> orphan;
  std::thread launching([&] {
    auto process = make_process_launcher()->launch(spec_of({"/bin/sleep", "1000"}));
    ASSERT_TRUE(process);
    orphan = std::move(*process);
  });
  launching.join();
  EXPECT_EQ(wait_status(*orphan), SIGKILL);
}

TEST(Launcher, BusyProgramIsTriedAgainThenReported) {
  const std::string folder = ::testing::TempDir();
  const std::string path = folder + "/busy-" + std::to_string(::getpid());
  {
    std::ifstream from("/bin/true", std::ios::binary);
    std::ofstream(path, std::ios::binary) << from.rdbuf();
  }
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  UniqueFd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const auto launcher = make_process_launcher();
  const auto busy = launcher->launch(spec_of({path}));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().error_number, ETXTBSY);
  writer.reset();
  auto process = launcher->launch(spec_of({path}));
  ::unlink(path.c_str());
  ASSERT_TRUE(process) << describe(process.error());
  EXPECT_EQ(wait_status(**process), 0);
}

TEST(Launcher, RestoresTheLimitOfOpenFiles) {
  Pipe out;
  ProcessSpec spec = shell("ulimit -n", out.write.get());
  auto process = make_process_launcher(rlimit{123, 456})->launch(spec);
  ASSERT_TRUE(process);
  out.write.reset();
  EXPECT_EQ(read_all(out.read.get()), "123\n");
}

TEST(Launcher, RefusesWrongSpecifications) {
  const auto launcher = make_process_launcher();
  const auto kind = [&](const ProcessSpec& spec) {
    const auto result = launcher->launch(spec);
    return result ? FailureKind::protocol_error : result.error().kind;
  };
  EXPECT_EQ(kind(spec_of({})), FailureKind::invalid_request);
  EXPECT_EQ(kind(spec_of({"true"})), FailureKind::invalid_request);
  using namespace std::string_literals;
  EXPECT_EQ(kind(spec_of({"/bin/true", "a\0b"s})), FailureKind::invalid_request);
  ProcessSpec spec = shell("true");
  spec.descriptors = {-1, -1};
  EXPECT_EQ(kind(spec), FailureKind::invalid_request);
  spec.descriptors.assign(kMaxChildDescriptors + 1, -1);
  EXPECT_EQ(kind(spec), FailureKind::invalid_request);
}

}  // namespace
}  // namespace exechost::keeper

// A descriptor that the caller owns must not enter a sandbox: reopened through /proc/self/fd it
// would be the caller's file, writable whatever its mode was.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

constexpr const char* kBefore = "precious\n";

// What a command does with its descriptor N (written @ in the script), and what may be in the
// caller's file afterwards beyond what was there: only what the command wrote as its own output.
struct Attack {
  const char* name;
  int descriptor;
  const char* script;
  const char* appended;
};

std::ostream& operator<<(std::ostream& out, const Attack& attack) { return out << attack.name; }

const Attack kAttacks[] = {
    {"append_to_stdin", 0, "echo x >> /proc/self/fd/0; echo ran", ""},
    {"truncate_stdin", 0, "true > /proc/self/fd/0; echo ran", ""},
    {"overwrite_stdin", 0, "printf HACK 1<> /proc/self/fd/0; echo ran", ""},
    {"chmod_stdin", 0, "chmod 777 /proc/self/fd/0; chmod 777 /dev/stdin; echo ran", ""},
    {"append_to_stdout", 1, "echo x >> /proc/self/fd/1; echo ran >&2", "x\n"},
    {"truncate_stdout", 1, "true > /proc/self/fd/1; echo ran >&2", ""},
    {"overwrite_stdout", 1, "printf HACK 1<> /proc/self/fd/1; echo ran >&2", "HACK"},
    {"read_stdout", 1, "dd if=/proc/self/fd/1 iflag=nonblock bs=64 count=1 2>/dev/null; echo ran >&2", ""},
    {"chmod_stdout", 1, "chmod 777 /proc/self/fd/1 2>/dev/null; echo ran >&2", ""},
    {"append_to_stderr", 2, "echo x >> /proc/self/fd/2; echo ran", "x\n"},
    {"truncate_stderr", 2, "true > /proc/self/fd/2; echo ran", ""},
    {"overwrite_stderr", 2, "printf HACK 1<> /proc/self/fd/2; echo ran", "HACK"},
};

class CallersFile : public ::testing::TestWithParam<std::tuple<const char*, Attack>> {};

TEST_P(CallersFile, IsNotTheCommands) {
  const auto& [user, attack] = GetParam();
  std::string why_not;
  const auto scene = Scene::make(user, Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << why_not;
  scene->file("out/file", kBefore, 0644);
  const std::string path = scene->outside() + "/file";
  const UniqueFd file(open(path.c_str(), (attack.descriptor == 0 ? O_RDONLY : O_WRONLY | O_APPEND) | O_CLOEXEC));
  ASSERT_TRUE(file);
  ProgramOptions options = scene->cli({"run", "--shell", attack.script});
  (attack.descriptor == 0   ? options.stdin_fd
   : attack.descriptor == 1 ? options.stdout_fd
                            : options.stderr_fd) = file.get();

  const ProgramEnd end = run_program(options);

  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_THAT(end.out + end.err, ::testing::HasSubstr("ran\n"));  // the attack really ran
  EXPECT_EQ(read_file(path), std::string(kBefore) + attack.appended);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0644u);
}

INSTANTIATE_TEST_SUITE_P(Attacks, CallersFile,
                         ::testing::Combine(::testing::Values("root", "user"), ::testing::ValuesIn(kAttacks)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param).name;
                         });

// The same with a file open for both directions, as a shell's <> makes it.
TEST(CallersFileBothWays, IsNotTheCommands) {
  for (const char* user : {"root", "user"}) {
    std::string why_not;
    const auto scene = Scene::make(user, Place::var_tmp, why_not);
    if (!scene) continue;  // an ordinary user runs the second half
    scene->file("out/file", kBefore);
    const UniqueFd file(open((scene->outside() + "/file").c_str(), O_RDWR | O_CLOEXEC));
    ProgramOptions options = scene->cli({"run", "--shell", "cat; echo x >> /proc/self/fd/0; echo y >&0; echo ran"});
    options.stdin_fd = file.get();
    const ProgramEnd end = run_program(options);
    EXPECT_THAT(end.out, ::testing::StartsWith(kBefore));
    EXPECT_THAT(end.out, ::testing::EndsWith("ran\n"));
    EXPECT_EQ(read_file(scene->outside() + "/file"), kBefore);
  }
}

class CallersTerminal : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
  }
  ProgramEnd on_terminal(std::vector<std::string> arguments) const {
    ProgramOptions options = scene_->cli(std::move(arguments));
    options.terminal = true;
    options.env["TERM"] = "xterm";
    return run_program(options);
  }
  std::unique_ptr<Scene> scene_;
};

TEST_P(CallersTerminal, NothingIsWrittenToItThroughStandardInput) {
  const ProgramEnd end = on_terminal({"run", "--shell", "echo x >> /proc/self/fd/0; echo y > /dev/stdin; echo ran"});
  EXPECT_EQ(end.exit_status(), 0);
  EXPECT_EQ(end.out, "ran\r\n");
}

TEST_P(CallersTerminal, NoDescriptorIsATerminal) {
  const ProgramEnd end = on_terminal({"run", "--shell",
                                      "for n in 0 1 2; do test -t $n && echo \"$n is a terminal\"; done; (: < "
                                      "/dev/tty) 2>/dev/null && echo controlling; echo ran"});
  EXPECT_EQ(end.out, "ran\r\n");
}

TEST_P(CallersTerminal, NothingIsTypedIntoIt) {
  const std::string probe = scene_->install_probe();
  const ProgramEnd end = on_terminal({"run", "--", probe, "terminal"});
  EXPECT_EQ(end.exit_status(), 0);
  EXPECT_THAT(end.out, ::testing::Not(::testing::HasSubstr("ok")));
}

// With --tty the command has a terminal, of its own.
TEST_P(CallersTerminal, TtyGivesAnother) {
  const std::string probe = scene_->install_probe();
  const ProgramEnd end = on_terminal(
      {"run", "--tty", "--shell", "test -t 0 && test -t 1 && test -t 2 && echo three; " + probe + " terminal"});
  EXPECT_EQ(end.exit_status(), 0);
  EXPECT_EQ(end.out, "three\r\nTIOCSTI EPERM\r\nTIOCSTI_high_bits EPERM\r\nTIOCLINUX EPERM\r\n");
}

INSTANTIATE_TEST_SUITE_P(As, CallersTerminal, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test

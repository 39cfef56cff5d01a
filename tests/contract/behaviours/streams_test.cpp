// What goes into a command and what comes out of it: its words, its input, its output, its exit status.
#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/contract/behaviours/place.hpp"

namespace exechost::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Streams : public InEachPlace {
 protected:
  ExecResult run_with_input(std::string text, std::string input) {
    Request request = script(std::move(text));
    request.standard_input.kind = StdinSource::Kind::bytes;
    request.standard_input.bytes = std::move(input);
    return host().run(request);
  }
};
INSTANTIATE_TEST_SUITE_P(In, Streams, ::testing::Values(Where::alone, Where::session, Where::node), place_name);

// Elsewhere: an exit status of 125 to 127 or 255 is taken for the transport's own failure, and a failure of the
// transport for exit status 1 of the command.
TEST_P(Streams, OutputAndExitStatusAreTheCommandsOwn) {
  const ExecResult result = run("echo out; echo err >&2; exit 7");
  EXPECT_EQ(result.status, Status::exited) << why(result);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out.data, "out\n");
  EXPECT_EQ(result.err.data, "err\n");
  for (const int status : {0, 1, 124, 125, 126, 127, 130, 255}) {
    const ExecResult own = run("(exit " + std::to_string(status) + ")");
    EXPECT_EQ(own.status, Status::exited) << why(own);
    EXPECT_EQ(own.exit_code, status);
    EXPECT_FALSE(own.failure);
  }
}

TEST_P(Streams, AProgramThatIsMissingAndOneThatIsNoneAreToldApart) {
  scene_->file("ws/plain", "text", 0644);
  const std::pair<std::string, std::pair<int, int>> rows[] = {{"no-such-command-anywhere", {ENOENT, 127}},
                                                              {path("plain"), {EACCES, 126}}};
  for (const auto& [program, expected] : rows) {
    const auto [error, status] = expected;
    const ExecResult result = host().run(words({program}));
    ASSERT_TRUE(result.failure) << result.to_json();
    EXPECT_EQ(result.failure->kind, FailureKind::spawn_failed);
    EXPECT_EQ(result.failure->error_number, error);
    EXPECT_EQ(result.started, Started::no);
    EXPECT_EQ(run_command_line({program}).exit_status(), status) << "as a shell has it";
    const ExecResult in_a_script = run(program);
    EXPECT_EQ(in_a_script.status, Status::exited) << "the shell did start";
    EXPECT_EQ(in_a_script.exit_code, status);
  }
}

// Elsewhere: input is made part of the command's text, so only its last simple command gets it, and a quote, a
// backslash or the line that ends it changes it.
TEST_P(Streams, InputArrivesByteForByte) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  for (const std::string& input :
       {std::string("no newline at the end"), std::string(), std::string("two\n\n"), std::string("\n"),
        std::string("back\\slash $HOME `date` $(date) 'one' \"two\" !!\n"), std::string("EOF\nEND\n__EOF__\n"),
        every_byte, std::string(300'000, 'x')}) {
    std::filesystem::remove(path("got"));
    const ExecResult result = run_with_input("cat > got; echo done", input);
    EXPECT_EQ(result.out.data, "done\n") << why(result);
    EXPECT_TRUE(read_file(path("got")) == input) << read_file(path("got")).size() << " bytes of " << input.size();
  }
}

// Elsewhere: a command that reads waits for the terminal of whoever started the agent.
TEST_P(Streams, WithoutInputACommandReadsItsEndAtOnce) {
  Request request = script("cat; read line; echo $?; wc -c");
  request.timeout = 30s;
  const ExecResult result = host().run(request);
  EXPECT_EQ(result.status, Status::exited) << why(result);
  EXPECT_EQ(result.out.data, "1\n0\n");
}

// Elsewhere: all of it is held in memory before it is cut, and how much there was is not known.
TEST_P(Streams, HugeOutputIsBoundedInMemoryCountedAndKeptInAFile) {
  ASSERT_EQ(run("true").exit_code, 0);
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM begins anew
  [[maybe_unused]] const long before = status_number(getpid(), "VmHWM");
  constexpr std::uint64_t kBytes = 100UL * 1024 * 1024;
  Request request = script("echo first; head -c " + std::to_string(kBytes) + " /dev/zero | tr '\\0' x; echo last");
  request.settings_json = R"({"resources": {"output_spill": true}})";
  const ExecResult result = host().run(placed(request));
  EXPECT_EQ(result.exit_code, 0) << (result.failure ? result.failure->message : "");
  EXPECT_EQ(result.out.total_bytes, kBytes + 11);
  EXPECT_EQ(result.out.data.size() + result.out.dropped_bytes, kBytes + 11);
  EXPECT_LE(result.out.data.size(), 1024U * 1024);
  EXPECT_THAT(result.out.data.substr(0, 10), StartsWith("first\nx"));
  EXPECT_THAT(result.out.data.substr(result.out.data.size() - 10), EndsWith("xlast\n"));
  ASSERT_FALSE(result.out.spill_path.empty());
  EXPECT_EQ(std::filesystem::file_size(result.out.spill_path), kBytes + 11);
#ifndef EXECHOST_SANITIZED
  EXPECT_LT(status_number(getpid(), "VmHWM") - before, 64 * 1024) << "KiB";
#endif
}

// Elsewhere: bytes that are no text come back as replacement characters, and a character that arrives in two parts,
// too.
TEST_P(Streams, OutputThatIsNoTextComesBackAsItIs) {
  const std::string bytes("\xff\xfe\0a\xc3(\xe2\x82", 8);
  const std::string command = R"(printf '\377\376\0a\303(\342\202'; printf '\303' >&2; printf '\234' >&2)";
  const ExecResult result = run(command);
  EXPECT_EQ(result.out.data, bytes) << why(result);
  EXPECT_EQ(result.err.data, "\xc3\x9c");
  EXPECT_EQ(run_command_line({"sh", "-c", command}).out, bytes);
  const json shown = json::parse(run_command_line({"sh", "-c", command}, {"--json"}).out);
  EXPECT_EQ(shown.at("stdout_base64"), "//4AYcMo4oI=");
  EXPECT_EQ(shown.at("stderr"), "\xc3\x9c");
}

// Elsewhere: the kernel takes no single word of more than 128 KiB, the same failure is tried three times, and nothing
// says what was too long.
TEST_P(Streams, AScriptLongerThanTheKernelTakesInOneWordRuns) {
  const std::string long_text(150UL * 1024, 'x');
  const ExecResult result =
      run("v='" + long_text + "'\nprintf %s \"$v\" | wc -c; echo $# $0 >&2; for i in 1 2; do echo $i; done; exit 3");
  EXPECT_EQ(result.exit_code, 3) << (result.failure ? describe(*result.failure) : result.err.data);
  EXPECT_EQ(result.out.data, "153600\n1\n2\n");
  const ExecResult usual = run("echo $# $0 >&2");
  EXPECT_EQ(result.err.data, usual.err.data) << "it is called as a short one is";
  // A word of a command is passed on as it is or not at all.
  const ExecResult word = host().run(words({"echo", long_text}));
  ASSERT_TRUE(word.failure);
  EXPECT_EQ(word.failure->kind, FailureKind::spawn_failed) << describe(*word.failure);
  EXPECT_EQ(word.failure->error_number, E2BIG);
  EXPECT_EQ(word.started, Started::no);
  EXPECT_THAT(word.attempts, IsEmpty()) << "it would be the same anywhere";
}

// Elsewhere: words are put together to a text that a shell takes apart again, and folders with other letters than a
// list allows are refused.
TEST_P(Streams, NothingInAWordAScriptOrAPathIsTakenApart) {
  const std::vector<std::string> torture{
      "",     " ",  "a b", "'",      "\"",    "'\"'\"'", "\\",   "\\'", "$HOME", "$(touch pwned)", "`touch pwned`",
      "a\nb", "\n", "*",   "?[a-z]", "~",     "-n",      "--",   "-rf", ";",     "touch pwned",    "&& touch pwned",
      "|",    "!x", "#x",  "%s",     "{a,b}", "\t",      "\x01", "Ü",   "\xff",  "$'\\n'",         "x\r"};
  std::vector<std::string> argv{"printf", "<%s>"};
  std::string expected;
  for (const std::string& word : torture) {
    argv.push_back(word);
    expected += "<" + word + ">";
  }
  EXPECT_EQ(host().run(words(argv)).out.data, expected);
  EXPECT_EQ(run_command_line(argv).out, expected);

  const std::string folder = "-Über (1) #&'\"$x\\ \n[a]";
  scene_->folder("ws/" + folder);
  Request inside = script("pwd; cat ./-n > \"-o\"");
  scene_->file("ws/" + folder + "/-n", "content");
  inside.cwd = path(folder);
  const ExecResult there = host().run(inside);
  EXPECT_EQ(there.out.data, path(folder) + "\n") << why(there);
  EXPECT_EQ(read_file(path(folder) + "/-o"), "content");

  const ExecResult quoted = run("printf '%s\\n' 'it'\\''s' \"a\\$b\" $'x' -- '-demo' 'Ü'\n# a comment at the end");
  EXPECT_THAT(quoted.out.data, StartsWith("it's\na$b\n")) << why(quoted);
  EXPECT_THAT(quoted.out.data, EndsWith("x\n--\n-demo\nÜ\n"));
  EXPECT_FALSE(std::filesystem::exists(path("pwned")));
}

}  // namespace
}  // namespace exechost::test

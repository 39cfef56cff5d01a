// Output without bounds, to nobody, and to a full disk; input without bounds.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <csignal>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;

class Output : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
  }
  std::unique_ptr<Scene> scene_;
};

std::string numbers(int last) {
  std::string text;
  for (int i = 1; i <= last; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST_P(Output, BothStreamsAreExact) {
  const ProgramEnd end = scene_->run({"run", "--quiet", "--shell", "seq 1 1000000 & seq 1 300000 >&2; wait"});
  EXPECT_EQ(end.exit_status(), 0);
  EXPECT_TRUE(end.out == numbers(1000000)) << end.out.size();
  EXPECT_TRUE(end.err == numbers(300000)) << end.err.size();
}

TEST_P(Output, InputIsExact) {
  ProgramOptions options = scene_->cli({"run", "--", "cat"});
  options.input = numbers(1000000);
  const ProgramEnd end = run_program(options);
  EXPECT_EQ(end.exit_status(), 0);
  EXPECT_TRUE(end.out == options.input) << end.out.size();
}

TEST_P(Output, UnreadInputDoesNotHoldTheEnd) {
  ProgramOptions options = scene_->cli({"run", "--", "sh", "-c", "head -c 1; exit 4"});
  options.input = numbers(1000000);
  const ProgramEnd end = run_program(options);
  EXPECT_EQ(end.exit_status(), 4);
  EXPECT_EQ(end.out, "1");
  EXPECT_LT(end.duration.count(), 10000);
}

TEST_P(Output, OpenInputDoesNotHoldTheEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);  // nobody writes or closes it
  ProgramOptions options = scene_->cli({"run", "--", "sh", "-c", "exit 6"});
  options.stdin_fd = read_end.get();
  const ProgramEnd end = run_program(options, std::chrono::seconds(20));
  EXPECT_EQ(end.exit_status(), 6);
}

TEST_P(Output, NobodyReadsIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd(ends[0]).reset();
  const UniqueFd write_end(ends[1]);
  ProgramOptions options = scene_->cli({"run", "--shell", "head -c 3000000 /dev/zero; exit 3"});
  options.stdout_fd = write_end.get();
  const ProgramEnd end = run_program(options, std::chrono::seconds(20));
  EXPECT_EQ(end.exit_status(), 3) << end.err;
}

TEST_P(Output, AnEndlessWriterEndsWithItsReader) {
  const ProgramEnd end = scene_->run({"run", "--shell", "true"});
  ASSERT_EQ(end.exit_status(), 0) << end.err;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd(ends[0]).reset();
  const UniqueFd write_end(ends[1]);
  ProgramOptions options = scene_->cli({"run", "--", "yes"});
  options.stdout_fd = write_end.get();
  EXPECT_EQ(run_program(options, std::chrono::seconds(20)).exit_status(), 128 + SIGPIPE);
}

TEST_P(Output, ThereIsNoStandardOutput) {
  ProgramOptions options = scene_->cli({"run", "--shell", "head -c 3000000 /dev/zero; echo err >&2; exit 3"});
  options.stdout_fd = ProgramOptions::kClosed;
  const ProgramEnd end = run_program(options, std::chrono::seconds(20));
  EXPECT_EQ(end.exit_status(), 3) << end.err;
  EXPECT_THAT(end.err, ::testing::HasSubstr("err\n"));
}

TEST_P(Output, NoStreamAtAll) {
  ProgramOptions options = scene_->cli({"run", "--shell", "cat; echo out; echo err >&2; exit 3"});
  options.stdin_fd = options.stdout_fd = options.stderr_fd = ProgramOptions::kClosed;
  EXPECT_EQ(run_program(options, std::chrono::seconds(20)).exit_status(), 3);
}

TEST_P(Output, DiskIsFull) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ProgramOptions options = scene_->cli({"run", "--shell", "head -c 3000000 /dev/zero; exit 3"});
  options.stdout_fd = full.get();
  const ProgramEnd end = run_program(options, std::chrono::seconds(20));
  EXPECT_EQ(end.exit_status(), 3) << end.err;
}

TEST_P(Output, CapKeepsHeadAndTail) {
  const ProgramEnd end =
      scene_->run({"run", "--json", "--shell", "echo first; head -c 104857600 /dev/zero | tr '\\0' x; echo last"});
  EXPECT_EQ(end.exit_status(), 0);
  const json result = json::parse(end.out);
  EXPECT_EQ(result["stdout_bytes"], 104857600 + 6 + 5);
  EXPECT_EQ(result["truncated"], true);
  const std::string kept = result["stdout"];
  EXPECT_LE(kept.size(), 1100000u);
  EXPECT_THAT(kept.substr(0, 10), ::testing::StartsWith("first\nx"));
  EXPECT_THAT(kept.substr(kept.size() - 10), ::testing::EndsWith("xlast\n"));
}

TEST_P(Output, SpillHoldsEverything) {
  const ProgramEnd end =
      scene_->run({"run", "--json", "--set", "resources.output_spill=true", "--shell", "seq 1 1000000"});
  EXPECT_EQ(end.exit_status(), 0);
  const json result = json::parse(end.out);
  const std::string path = result["spill_path"]["stdout"];
  EXPECT_THAT(path, ::testing::StartsWith(scene_->state_folder()));
  EXPECT_TRUE(read_file(path) == numbers(1000000));
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
  EXPECT_EQ(status.st_uid, scene_->account().uid);
}

INSTANTIATE_TEST_SUITE_P(As, Output, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

// The state folder is on a full disk: the command runs to its end, the counts are right, and the
// result says what is missing.
TEST(SpillDiskFull, IsAWarning) {
  std::string why_not;
  const auto scene = Scene::make("root", Place::var_tmp, why_not);
  if (!scene) GTEST_SKIP() << "only root can mount a small disk";
  ProgramOptions options = scene->cli({});
  const std::string exechost = options.argv.front();
  options.argv = {"/usr/bin/unshare", "-m", "/bin/sh", "-c",
                  "mount -t tmpfs -o size=1m,mode=0700 tmpfs " + scene->state_folder() + " && exec " + exechost +
                      " run --json --set resources.output_spill=true --shell 'seq 1 1000000; exit 7'"};
  const ProgramEnd end = run_program(options);
  EXPECT_EQ(end.exit_status(), 7) << end.err;
  const json result = json::parse(end.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << end.out;
  EXPECT_EQ(result["status"], "exited");
  EXPECT_EQ(result["stdout_bytes"], numbers(1000000).size());
  EXPECT_THAT(result["warnings"].dump(), ::testing::HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace exechost::test

// The exit status table of `exechost run`, and that --json tells apart what a status can't.
#include <gmock/gmock.h>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;

class ExitStatus : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
  }

  // The result object and the exit status of the same run.
  std::pair<json, int> run_json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"run", "--json"});
    const ProgramEnd end = scene_->run(arguments);
    EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
    json result = json::parse(end.out, nullptr, false);
    EXPECT_TRUE(result.is_object()) << end.out << end.err;
    if (!result.is_object()) result = json::object();
    return {result, end.exit_status()};
  }

  int run_status(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "run");
    const ProgramEnd end = scene_->run(arguments);
    EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
    return end.exit_status();
  }

  // Sends signals to the command line while a command runs, one after the other.
  ProgramEnd interrupt(const std::vector<std::string>& options, const std::string& script,
                       const std::vector<int>& numbers) const {
    std::vector<std::string> arguments{"run"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--shell", script});
    Program program(scene_->cli(arguments));
    EXPECT_TRUE(program.wait_for_output("up\n"));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      // The script says when a signal has arrived, so that two don't become one.
      if (i > 0) {
        EXPECT_TRUE(program.wait_for_output("got it\n"));
      }
      program.signal(numbers[i]);
    }
    ProgramEnd end = program.finish(std::chrono::seconds(20));
    EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
    return end;
  }

  std::unique_ptr<Scene> scene_;
};

TEST_P(ExitStatus, IsTheCommandsOwn) {
  for (const int status : {0, 1, 2, 3, 42, 63, 100, 123, 124, 125, 126, 127, 128, 130, 137, 143, 200, 254, 255}) {
    EXPECT_EQ(run_status({"--", "sh", "-c", "exit " + std::to_string(status)}), status);
  }
}

TEST_P(ExitStatus, JsonSaysWhoseItIs) {
  for (const int status : {0, 124, 125, 126, 127, 130, 137}) {
    const auto [result, exit] = run_json({"--", "sh", "-c", "exit " + std::to_string(status)});
    EXPECT_EQ(exit, status);
    EXPECT_EQ(result["status"], "exited");
    EXPECT_EQ(result["exit_code"], status);
    EXPECT_EQ(result["started"], "yes");
    EXPECT_TRUE(result["failure"].is_null());
  }
}

TEST_P(ExitStatus, CommandNotFoundIs127) {
  const auto [result, exit] = run_json({"--", "no-such-command-anywhere"});
  EXPECT_EQ(exit, 127);
  EXPECT_EQ(result["status"], "failed");
  EXPECT_EQ(result["started"], "no");
  EXPECT_EQ(result["failure"]["kind"], "spawn_failed");
  EXPECT_EQ(result["failure"]["phase"], "spawn");
  EXPECT_EQ(result["failure"]["errno"], ENOENT);
}

TEST_P(ExitStatus, CommandNotExecutableIs126) {
  scene_->file("ws/plain", "text", 0644);
  for (const std::string& command : {scene_->workspace() + "/plain", scene_->workspace()}) {
    const auto [result, exit] = run_json({"--", command});
    EXPECT_EQ(exit, 126) << command;
    EXPECT_EQ(result["failure"]["kind"], "spawn_failed") << command;
    EXPECT_EQ(result["failure"]["errno"], EACCES) << command;
    EXPECT_EQ(result["started"], "no") << command;
  }
}

TEST_P(ExitStatus, MissingInterpreterIs127) {
  scene_->file("ws/script", "#!/no/such/interpreter\n", 0755);
  const auto [result, exit] = run_json({"--", scene_->workspace() + "/script"});
  EXPECT_EQ(exit, 127);
  EXPECT_EQ(result["failure"]["kind"], "spawn_failed");
  EXPECT_EQ(result["failure"]["errno"], ENOENT);
}

// As execvp(3) does it.
TEST_P(ExitStatus, ScriptWithoutInterpreterIsTheShells) {
  scene_->file("ws/script", "exit 9\n", 0755);
  EXPECT_EQ(run_status({"--", scene_->workspace() + "/script"}), 9);
}

TEST_P(ExitStatus, AnyOtherFailureIs125) {
  const auto [result, exit] = run_json({"--set", "network.mode=\"sometimes\"", "--", "true"});
  EXPECT_EQ(exit, 125);
  EXPECT_EQ(result["status"], "failed");
  EXPECT_EQ(result["started"], "no");
  EXPECT_EQ(result["failure"]["kind"], "invalid_request");
  EXPECT_EQ(run_status({"--backend", "no-such-backend", "--", "true"}), 125);
  EXPECT_EQ(run_status({"--cwd", scene_->workspace() + "/missing", "--", "true"}), 125);
  EXPECT_EQ(run_status({"--timeout", "0", "--", "true"}), 125);
  EXPECT_EQ(run_status({"--no-such-option", "--", "true"}), 125);
}

TEST_P(ExitStatus, TimedOutIs124) {
  const auto [result, exit] = run_json({"--timeout", "400ms", "--", "sh", "-c", "echo up; sleep 60"});
  EXPECT_EQ(exit, 124);
  EXPECT_EQ(result["status"], "timed_out");
  EXPECT_EQ(result["started"], "yes");
  EXPECT_EQ(result["stdout"], "up\n");
  EXPECT_TRUE(result["failure"].is_null());
}

TEST_P(ExitStatus, KilledBySignalIs128PlusIt) {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGKILL, SIGUSR1, SIGSEGV, SIGPIPE, SIGTERM}) {
    const auto [result, exit] = run_json({"--", "sh", "-c", "kill -" + std::to_string(number) + " $$"});
    EXPECT_EQ(exit, 128 + number);
    EXPECT_EQ(result["status"], "signaled");
    EXPECT_EQ(result["signal"], number);
    EXPECT_TRUE(result["failure"].is_null());
  }
}

TEST_P(ExitStatus, InterruptedIs128PlusTheSignal) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const ProgramEnd end = interrupt({}, "echo up; exec sleep 60", {number});
    EXPECT_EQ(end.exit_status(), 128 + number);
    EXPECT_LT(end.duration.count(), 5000);
  }
}

TEST_P(ExitStatus, InterruptedCommandThatIgnoresItIsKilledAfterTheGrace) {
  const ProgramEnd end = interrupt({"--set", "resources.kill_grace=\"300ms\""},
                                   "trap '' INT TERM; echo up; sleep 60; sleep 60", {SIGTERM});
  EXPECT_EQ(end.exit_status(), 143);
  EXPECT_GE(end.duration.count(), 300);
  EXPECT_LT(end.duration.count(), 10000);
}

TEST_P(ExitStatus, SecondSignalKillsAtOnce) {
  const ProgramEnd end = interrupt({"--set", "resources.kill_grace=\"600s\""},
                                   "trap 'echo got it' INT; echo up; while :; do sleep 0.05; done", {SIGINT, SIGINT});
  EXPECT_EQ(end.exit_status(), 130);
  EXPECT_LT(end.duration.count(), 10000);
}

TEST_P(ExitStatus, SignalReachesTheWholeGroup) {
  const ProgramEnd end = interrupt({},
                                   "trap 'wait; echo outer; exit 9' TERM; (trap 'echo inner; exit 0' TERM; echo up; "
                                   "while :; do sleep 0.05; done) & wait",
                                   {SIGTERM});
  EXPECT_THAT(end.out, ::testing::HasSubstr("inner\n"));
  EXPECT_THAT(end.out, ::testing::HasSubstr("outer\n"));
}

INSTANTIATE_TEST_SUITE_P(As, ExitStatus, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace exechost::test

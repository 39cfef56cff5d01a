// What happens to a command that the backend does start, and how often.
#include <gmock/gmock.h>

#include <filesystem>

#include "scene.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class ScriptedRun : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  ScriptedScene scene{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Placements, ScriptedRun,
                         ::testing::Values(KeeperPlacement::in_process, KeeperPlacement::child), [](const auto& entry) {
                           return entry.param == KeeperPlacement::child ? "child" : "in_process";
                         });

TEST_P(ScriptedRun, WorksWhereTheScriptSaysNothing) {
  scene.play(json::object());
  Request request;
  request.argv = {"sh", "-c", "cat; echo err >&2; echo \"$1\"; exit 7", "sh", "a  b"};
  request.standard_input.kind = StdinSource::Kind::bytes;
  request.standard_input.bytes = "in\n";
  const ExecResult result = scene.run(request);
  EXPECT_EQ(result.status, Status::exited) << result.to_json();
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out.data, "in\na  b\n");
  EXPECT_EQ(result.err.data, "err\n");
  EXPECT_EQ(scene.run("kill -TERM $$").signal_number, SIGTERM);
  EXPECT_EQ(scene.ledger_entries(), 0U);
}

TEST_P(ScriptedRun, TheFirstTwoFail) {
  scene.play(rules({{"at", "open"}, {"to", 2}, {"fail", {{"kind", "unavailable"}}}}));
  EXPECT_EQ(scene.run().failure->kind, FailureKind::unavailable);
  EXPECT_EQ(scene.run().failure->kind, FailureKind::unavailable);
  EXPECT_EQ(scene.run().exit_code, 3);
}

TEST_P(ScriptedRun, LostAfterTwoExecutions) {
  scene.play(rules({{"at", "spawn"}, {"from", 3}, {"fail", {{"kind", "environment_lost"}}}}));
  EXPECT_EQ(scene.run().exit_code, 3);
  EXPECT_EQ(scene.run().exit_code, 3);
  EXPECT_EQ(scene.run().failure->kind, FailureKind::environment_lost);
  // Each run has an environment of its own, so the first of each is all there is.
  scene.play(rules({{"at", "spawn"}, {"per", "environment"}, {"from", 2}, {"fail", {{"kind", "environment_lost"}}}}));
  EXPECT_EQ(scene.run().exit_code, 3);
  EXPECT_EQ(scene.run().exit_code, 3);
}

TEST_P(ScriptedRun, HalfOutputThenLost) {
  scene.play(rules({{"at", "run"}, {"after_bytes", 5}, {"fail", {{"kind", "environment_lost"}}}}));
  const ExecResult result = scene.run("printf 1234567890; sleep 1000");
  EXPECT_EQ(result.failure->kind, FailureKind::environment_lost) << result.to_json();
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_EQ(result.out.data, "12345");
}

TEST_P(ScriptedRun, HalfOutputThenAnEnd) {
  scene.play(rules({{"at", "run"}, {"after_bytes", 70000}, {"end", {{"exit_code", 9}}}}));
  const ExecResult result = scene.run("head -c 100000 /dev/zero; sleep 1000");
  EXPECT_EQ(result.exit_code, 9) << result.to_json();
  EXPECT_EQ(result.out.total_bytes, 70000U);
  EXPECT_EQ(scene.run("printf few").out.data, "few") << "less than that";
}

TEST_P(ScriptedRun, AnyEnd) {
  scene.play({{"rules",
               {{{"at", "run"}, {"to", 1}, {"end", {{"exit_code", 255}}}},
                {{"at", "run"}, {"to", 2}, {"end", {{"signal", 15}}}},
                {{"at", "run"}, {"to", 3}, {"end", {{"wait_status", 0x8b}}}}}}});
  EXPECT_EQ(scene.run().exit_code, 255);
  EXPECT_EQ(scene.run().signal_number, 15);
  EXPECT_EQ(scene.run().signal_number, 11) << "with a core";
  EXPECT_EQ(scene.run().exit_code, 3);
}

TEST_P(ScriptedRun, NeverEnded) {
  scene.play(rules({{"at", "run"}, {"never", "ended"}}));
  Request request = shell("echo out");
  request.timeout = 1000ms;
  const ExecResult result = scene.run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_EQ(result.started, Started::yes);
  EXPECT_EQ(result.out.data, "out\n");
}

TEST_P(ScriptedRun, NeverStarted) {
  scene.play(rules({{"at", "run"}, {"never", "started"}}));
  Request request = shell("touch ran");
  request.timeout = 1000ms;
  const ExecResult result = scene.run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_EQ(result.started, Started::no);
  EXPECT_FALSE(std::filesystem::exists(scene.workspace + "/ran"));
}

TEST_P(ScriptedRun, NeverEndedWhateverIsDone) {
  scene.play(rules({{"at", "run"}, {"never", "ended"}, {"stubborn", true}}));
  Request request = shell("sleep 1000");
  request.timeout = 1000ms;
  const ExecResult result = scene.run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_THAT(result.warnings, Contains(HasSubstr("environment")));
}

TEST_P(ScriptedRun, ALongOpenGivesWay) {
  scene.play(rules({{"at", "open"}, {"delay_ms", 600'000}}));
  Request request = shell("true");
  request.timeout = 700ms;
  const ExecResult result = scene.run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_EQ(result.stopped_phase, Phase::provision);
  EXPECT_TRUE(result.warnings.empty() || result.warnings.back().find("did not stop") == std::string::npos);
  auto execution = scene.host().start(scene.request(shell("true")));
  ASSERT_TRUE(execution) << describe(execution.error());
  execution->cancel();
  EXPECT_EQ(execution->wait().status, Status::cancelled);
}

TEST_P(ScriptedRun, AStubbornOpenIsNotWaitedFor) {
  scene.play(rules({{"at", "open"}, {"delay_ms", 4000}, {"stubborn", true}}));
  Request request = shell("true");
  request.timeout = 300ms;
  const ExecResult result = scene.run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_LT(result.duration, 4000ms);
}

TEST_P(ScriptedRun, ADelayedStartStillRuns) {
  scene.play({{"rules", {{{"at", "run"}, {"delay_ms", 50}}, {{"at", "spawn"}, {"delay_ms", 50}}}}});
  const ExecResult result = scene.run();
  EXPECT_EQ(result.exit_code, 3) << result.to_json();
  EXPECT_GE(result.phase_times.at("spawn"), 100ms);
}

TEST_P(ScriptedRun, WrongClaimsArePlannedWith) {
  scene.play(
      {{"claims", {{"memory", {{"grade", "kernel"}, {"evidence", "none at all"}}}, {"stdin", {{"grade", "so so"}}}}}});
  Request request = shell("true");
  request.settings_json = R"({"resources":{"memory":"512m"}})";
  const ExecResult result = scene.run(request);
  EXPECT_EQ(result.status, Status::exited) << result.to_json();
  const auto memory = std::find_if(result.settings.begin(), result.settings.end(),
                                   [](const SettingReport& setting) { return setting.name == "resources.memory"; });
  ASSERT_NE(memory, result.settings.end());
  EXPECT_EQ(memory->grade, "kernel");
  request.standard_input.kind = StdinSource::Kind::bytes;
  EXPECT_EQ(scene.run(request).failure->kind, FailureKind::unsupported) << "an unknown grade is none";
}

}  // namespace
}  // namespace exechost::test

// Each kind of failure at each point of a run, as it reaches the result.
#include <gmock/gmock.h>

#include "scene.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

const char* const kKinds[] = {"invalid_request",  "unsupported",    "unavailable",
                              "provision_failed", "spawn_failed",   "denied",
                              "environment_lost", "protocol_error", "plugin_crashed"};

class ScriptedFailure : public ::testing::TestWithParam<const char*> {
 protected:
  ExecResult fail_at(const char* at) {
    json failure{{"kind", GetParam()}, {"message", "a sentence"}, {"hint", "a hint"},   {"errno", 28},
                 {"step", "a step"},   {"code", "E-1"},           {"request_id", "r-1"}};
    scene.play(rules({{"at", at}, {"fail", std::move(failure)}}));
    return scene.run("touch ran; sleep 1000");
  }
  static void expect_failure(const ExecResult& result, Phase phase) {
    EXPECT_EQ(result.status, Status::failed) << result.to_json();
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(to_string(result.failure->kind), GetParam());
    EXPECT_EQ(result.failure->phase, phase);
    EXPECT_EQ(result.failure->message, "a sentence");
    EXPECT_EQ(result.failure->hint, "a hint");
    EXPECT_EQ(result.failure->backend, "scripted");
    EXPECT_EQ(result.failure->error_number, 28);
    EXPECT_EQ(result.failure->step, "a step");
    EXPECT_EQ(result.failure->code, "E-1");
    EXPECT_EQ(result.failure->request_id, "r-1");
  }
  static bool is_protocol_error() { return std::string(GetParam()) == "protocol_error"; }

  ScriptedScene scene;
};

INSTANTIATE_TEST_SUITE_P(Kinds, ScriptedFailure, ::testing::ValuesIn(kKinds),
                         [](const auto& entry) { return std::string(entry.param); });

TEST_P(ScriptedFailure, AtCreateProbeAndOpen) {
  for (const char* const at : {"create", "probe", "open"}) {
    SCOPED_TRACE(at);
    const ExecResult result = fail_at(at);
    expect_failure(result, Phase::provision);
    EXPECT_EQ(result.started, Started::no);
  }
}

TEST_P(ScriptedFailure, AtSpawn) {
  const ExecResult result = fail_at("spawn");
  expect_failure(result, Phase::spawn);
  // Who breaks the protocol is not believed that nothing was begun.
  EXPECT_EQ(result.started, is_protocol_error() ? Started::unknown : Started::no);
}

TEST_P(ScriptedFailure, AtRun) {
  const ExecResult result = fail_at("run");
  expect_failure(result, Phase::run);
  EXPECT_EQ(result.started, Started::yes);
}

TEST_P(ScriptedFailure, AtCloseIsAWarning) {
  scene.play(rules({{"at", "close"}, {"to", 1}, {"fail", {{"kind", GetParam()}, {"message", "it stays"}}}}));
  const ExecResult result = scene.run();
  EXPECT_EQ(result.status, Status::exited) << result.to_json();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.warnings, Contains(HasSubstr("it stays")));
}

class ScriptedBreach : public ::testing::Test {
 protected:
  ExecResult at(const char* point, const char* name, const json& value) {
    scene.play(rules({{"at", point}, {name, value}}));
    return scene.run("sleep 1000");
  }
  static std::string told(const ExecResult& result) {
    return result.failure ? std::string(to_string(result.failure->kind)) + ": " + result.failure->message
                          : std::string(to_string(result.status));
  }
  ScriptedScene scene;
};

TEST_F(ScriptedBreach, StatusesThatAreNotListed) {
  for (const char* const point : {"create", "probe", "open", "spawn", "run"}) {
    EXPECT_THAT(told(at(point, "status", 77)), HasSubstr("protocol_error: backend \"scripted\" returned status 77"))
        << point;
    EXPECT_THAT(told(at(point, "status", 1)), HasSubstr("protocol_error: backend \"scripted\" failed without"))
        << point;
  }
}

TEST_F(ScriptedBreach, NothingWhereATableShouldBe) {
  EXPECT_THAT(told(at("create", "status", 0)), HasSubstr("protocol_error: backend"));
  EXPECT_THAT(told(at("open", "status", 0)), HasSubstr("protocol_error: backend"));
  EXPECT_THAT(told(at("spawn", "status", 0)), HasSubstr("protocol_error: backend"));
  EXPECT_THAT(told(at("run", "status", 0)), HasSubstr("an event of unknown kind 0"));
}

TEST_F(ScriptedBreach, Exceptions) {
  for (const char* const point : {"create", "probe", "open", "spawn", "run"}) {
    EXPECT_EQ(told(at(point, "throw", "oh")), "protocol_error: unhandled exception: oh") << point;
  }
}

TEST_F(ScriptedBreach, AnswersOfTheWrongShape) {
  for (const char* const point : {"probe", "open"}) {
    for (const json& answer : {json("no JSON"), json(7), json::array()}) {
      EXPECT_EQ(at(point, "answer", answer).failure->kind, FailureKind::protocol_error) << point << answer;
    }
  }
  const ExecResult result = at("probe", "answer", {{"ready", false}, {"reason", "the moon"}, {"hint", "wait"}});
  EXPECT_EQ(result.failure->kind, FailureKind::unavailable);
  EXPECT_THAT(result.failure->message, HasSubstr("the moon"));
  EXPECT_EQ(result.failure->hint, "wait");
}

// Only the keeper's process ends.
TEST(ScriptedCrash, IsTheKeepersEnd) {
  ScriptedScene scene(KeeperPlacement::child);
  for (const char* const point : {"open", "spawn", "run"}) {
    scene.play(rules({{"at", point}, {"crash", true}}));
    const ExecResult result = scene.run();
    ASSERT_TRUE(result.failure) << result.to_json();
    EXPECT_EQ(result.failure->kind, FailureKind::plugin_crashed) << point;
  }
}

}  // namespace
}  // namespace exechost::test

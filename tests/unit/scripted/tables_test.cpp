// The calls that ExecHost makes when something is left behind, and answers as they are given.
#include "tables.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using plugin::CallOutcome;

constexpr std::pair<const char*, FailureKind> kKinds[] = {
    {"invalid_request", FailureKind::invalid_request},   {"unsupported", FailureKind::unsupported},
    {"unavailable", FailureKind::unavailable},           {"provision_failed", FailureKind::provision_failed},
    {"spawn_failed", FailureKind::spawn_failed},         {"denied", FailureKind::denied},
    {"environment_lost", FailureKind::environment_lost}, {"protocol_error", FailureKind::protocol_error},
    {"plugin_crashed", FailureKind::plugin_crashed}};

class ScriptedCleanup : public ScriptedTables {
 protected:
  CallOutcome play(const char* at, json rule) {
    rule["at"] = at;
    EXPECT_EQ(create({{"script", {{"rules", json::array({rule})}}}}).status, EH_OK);
    return again(at);
  }
  CallOutcome again(const std::string& at) const {
    return call(Phase::cleanup, [&](const eh_call* call) {
      if (at == "reap") return backend_->reap(backend_->self, plugin::to_eh("{}"), call);
      if (at == "list") return backend_->list(backend_->self, call);
      return backend_->probe(backend_->self, call);
    });
  }
};

TEST_F(ScriptedCleanup, EveryKindOfFailure) {
  for (const char* const at : {"reap", "list"}) {
    for (const auto& [name, kind] : kKinds) {
      const CallOutcome outcome = play(at, {{"fail", {{"kind", name}, {"errno", 5}, {"step", "s"}, {"code", "c"}}}});
      EXPECT_EQ(outcome.status, EH_FAILED) << at << name;
      EXPECT_EQ(outcome.failure.kind, kind);
      EXPECT_EQ(outcome.failure.phase, Phase::cleanup);
      EXPECT_EQ(outcome.failure.message, "the script says so");
      EXPECT_EQ(outcome.failure.error_number, 5);
      EXPECT_EQ(outcome.failure.step, "s");
      EXPECT_EQ(outcome.failure.code, "c");
    }
  }
}

TEST_F(ScriptedCleanup, WorksWithoutARule) {
  EXPECT_EQ(play("probe", {{"from", 2}, {"throw", "later"}}).status, EH_OK);
  EXPECT_EQ(again("reap").status, EH_OK);
  EXPECT_EQ(again("list").answer, "[]");
  EXPECT_EQ(again("probe").failure.message, "unhandled exception: later");
}

TEST_F(ScriptedCleanup, AnswersAreGivenAsTheyAre) {
  EXPECT_EQ(play("list", {{"answer", "{no JSON"}}).answer, "{no JSON");
  EXPECT_EQ(play("list", {{"answer", {{{"name", "a"}, {"labels", json::object()}}}}}).answer,
            R"([{"labels":{},"name":"a"}])");
}

TEST_F(ScriptedCleanup, StatusesAreReturnedAsTheyAre) {
  EXPECT_EQ(play("reap", {{"status", 3}}).status, EH_TIMED_OUT);
  EXPECT_EQ(play("reap", {{"status", 4}}).status, EH_CANCELLED);
  EXPECT_EQ(play("list", {{"status", 0}}).answer, "") << "well, but nothing was said";
  EXPECT_EQ(play("list", {{"status", 1}}).failure.message, "backend \"scripted\" failed without a reason");
  EXPECT_EQ(play("reap", {{"status", 77}}).failure.message,
            "backend \"scripted\" returned status 77, which the plugin ABI does not have");
}

// A create that fails leaves no backend that could count.
TEST_F(ScriptedCleanup, FailedCreatesAreCountedAllTheSame) {
  const json settings{{"script", {{"rules", {{{"at", "create"}, {"to", 2}, {"fail", {{"kind", "unavailable"}}}}}}}}};
  EXPECT_EQ(create(settings).failure.kind, FailureKind::unavailable);
  EXPECT_EQ(create(settings).failure.kind, FailureKind::unavailable);
  EXPECT_EQ(create(settings).status, EH_OK);
}

}  // namespace
}  // namespace exechost::test

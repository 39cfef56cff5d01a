// The whole table of the node tier, and what holds for the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/admission/gate.hpp"

namespace exechost::admission {
namespace {

using testing::HasSubstr;

plan::Plan plan_for(std::string tier) {
  plan::Plan plan;
  plan.tier = std::move(tier);
  plan.backend = plan.tier == "node" ? "local" : "bwrap";
  plan.argv = {"make", "test"};
  plan.cwd = "/home/u/p";
  return plan;
}

plan::Plan degraded(std::string tier) {
  plan::Plan plan = plan_for(std::move(tier));
  plan.degraded.emplace();
  plan.degraded->wanted = "bwrap";
  plan.degraded->reason.kind = FailureKind::unavailable;
  plan.degraded->reason.message = "bwrap is not installed";
  plan.degraded->reason.hint = "install it";
  plan.degraded->lost = {"files: all of them", "network: all of it"};
  return plan;
}

enum class Is { allowed, asked, denied };

Is kind_of(const Decision& decision) {
  if (std::holds_alternative<Allowed>(decision)) return Is::allowed;
  return std::holds_alternative<Asked>(decision) ? Is::asked : Is::denied;
}

struct Row {
  Security security;
  Ask ask;
  bool listed;
  bool granted;
  Is expected;
  const char* by;
};

// Every combination; one line per security, ask, listed, granted.
constexpr Row kTable[] = {
    {Security::deny, Ask::off, false, false, Is::denied, "security is deny"},
    {Security::deny, Ask::off, false, true, Is::denied, "security is deny"},
    {Security::deny, Ask::off, true, false, Is::denied, "security is deny"},
    {Security::deny, Ask::off, true, true, Is::denied, "security is deny"},
    {Security::deny, Ask::on_miss, false, false, Is::denied, "security is deny"},
    {Security::deny, Ask::on_miss, false, true, Is::denied, "security is deny"},
    {Security::deny, Ask::on_miss, true, false, Is::denied, "security is deny"},
    {Security::deny, Ask::on_miss, true, true, Is::denied, "security is deny"},
    {Security::deny, Ask::always, false, false, Is::denied, "security is deny"},
    {Security::deny, Ask::always, false, true, Is::denied, "security is deny"},
    {Security::deny, Ask::always, true, false, Is::denied, "security is deny"},
    {Security::deny, Ask::always, true, true, Is::denied, "security is deny"},
    {Security::allowlist, Ask::off, false, false, Is::denied, "ask is off"},
    {Security::allowlist, Ask::off, false, true, Is::allowed, "a person allowed"},
    {Security::allowlist, Ask::off, true, false, Is::allowed, "allow names"},
    {Security::allowlist, Ask::off, true, true, Is::allowed, "allow names"},
    {Security::allowlist, Ask::on_miss, false, false, Is::asked, "does not name"},
    {Security::allowlist, Ask::on_miss, false, true, Is::allowed, "a person allowed"},
    {Security::allowlist, Ask::on_miss, true, false, Is::allowed, "allow names"},
    {Security::allowlist, Ask::on_miss, true, true, Is::allowed, "allow names"},
    {Security::allowlist, Ask::always, false, false, Is::asked, "ask is always"},
    {Security::allowlist, Ask::always, false, true, Is::asked, "ask is always"},
    {Security::allowlist, Ask::always, true, false, Is::asked, "ask is always"},
    {Security::allowlist, Ask::always, true, true, Is::asked, "ask is always"},
    {Security::full, Ask::off, false, false, Is::allowed, "security is full"},
    {Security::full, Ask::off, false, true, Is::allowed, "security is full"},
    {Security::full, Ask::off, true, false, Is::allowed, "security is full"},
    {Security::full, Ask::off, true, true, Is::allowed, "security is full"},
    {Security::full, Ask::on_miss, false, false, Is::allowed, "security is full"},
    {Security::full, Ask::on_miss, false, true, Is::allowed, "security is full"},
    {Security::full, Ask::on_miss, true, false, Is::allowed, "security is full"},
    {Security::full, Ask::on_miss, true, true, Is::allowed, "security is full"},
    {Security::full, Ask::always, false, false, Is::asked, "ask is always"},
    {Security::full, Ask::always, false, true, Is::asked, "ask is always"},
    {Security::full, Ask::always, true, false, Is::asked, "ask is always"},
    {Security::full, Ask::always, true, true, Is::asked, "ask is always"},
};

std::string by_of(const Decision& decision) {
  return std::visit([](const auto& value) { return value.by; }, decision);
}

Rules rules_of(const Row& row) {
  Rules rules;
  rules.node.security = row.security;
  rules.node.ask = row.ask;
  if (row.listed) rules.node.allow = {{"ls"}, {"make", "test"}};
  return rules;
}

class NodeTable : public testing::TestWithParam<Row> {};

TEST_P(NodeTable, Decides) {
  const Row& row = GetParam();
  const plan::Plan plan = plan_for("node");
  std::vector<SessionGrant> granted;
  if (row.granted) granted.push_back(grant_of(plan));
  const Decision decision = decide(plan, rules_of(row), granted);
  EXPECT_EQ(kind_of(decision), row.expected);
  EXPECT_THAT(by_of(decision), HasSubstr(row.by));
}
INSTANTIATE_TEST_SUITE_P(Node, NodeTable, testing::ValuesIn(kTable));

// Rules say whether a command may run there at all; that it goes there instead, only a person does.
TEST_P(NodeTable, AWeakerPlaceIsAskedAboutUnlessDenied) {
  const Row& row = GetParam();
  const plan::Plan plan = degraded("node");
  std::vector<SessionGrant> granted;
  if (row.granted) granted.push_back(grant_of(plan));
  const Decision decision = decide(plan, rules_of(row), granted);
  const Is expected = row.expected == Is::allowed && !row.granted ? Is::asked : row.expected;
  EXPECT_EQ(kind_of(decision), expected);
}

TEST(Decide, TheListIsComparedWordByWord) {
  Rules rules;
  rules.node.allow = {{"make", "test"}, {"git", "push", "origin main"}};
  const auto decided = [&](std::vector<std::string> argv) {
    plan::Plan plan = plan_for("node");
    plan.argv = std::move(argv);
    return kind_of(decide(plan, rules, {}));
  };
  EXPECT_EQ(decided({"make", "test"}), Is::allowed);
  EXPECT_EQ(decided({"git", "push", "origin main"}), Is::allowed);
  for (const std::vector<std::string>& other : {std::vector<std::string>{"make"},
                                                {"make", "test", ""},
                                                {"make", "Test"},
                                                {"/usr/bin/make", "test"},
                                                {"make test"},
                                                {"git", "push", "origin", "main"},
                                                {"sh", "-c", "make test"},
                                                {"make", "test", "-f", "x"}}) {
    EXPECT_EQ(decided(other), Is::asked) << testing::PrintToString(other);
  }
}

TEST(Decide, AGrantIsForTheSameCommandInTheSamePlace) {
  const plan::Plan plan = plan_for("node");
  plan::Plan other = plan;
  other.argv.emplace_back("-k");
  EXPECT_EQ(kind_of(decide(other, {}, {grant_of(plan)})), Is::asked);
  SessionGrant of_a_sandbox = grant_of(plan);
  of_a_sandbox.tier = "sandbox";
  EXPECT_EQ(kind_of(decide(plan, {}, {of_a_sandbox})), Is::asked);
}

// The words alone say little: ./run is another program elsewhere, and PATH says which one make is.
TEST(Decide, AGrantIsForTheFolderTheVariablesAndTheMountsThatWereAskedAbout) {
  const std::pair<const char*, std::function<void(plan::Plan&)>> changes[] = {
      {"folder", [](plan::Plan& plan) { plan.cwd = "/home/u/other"; }},
      {"variable", [](plan::Plan& plan) { plan.environment["PATH"] = "/home/u/p/bin:/usr/bin"; }},
      {"workspace", [](plan::Plan& plan) { plan.workspace = "/home/u/other"; }},
      {"mount",
       [](plan::Plan& plan) {
         plan.view.entries.push_back({"/home/u", plan::Access::rw, "", 0, ""});
       }},
      {"file behind a mount",
       [](plan::Plan& plan) {
         plan.confinement.view_checks.push_back({"/x", 1, 2, true});
       }},
      {"network", [](plan::Plan& plan) { plan.network.mode = "full"; }},
      {"image", [](plan::Plan& plan) { plan.image = "other"; }},
      {"setting of the backend", [](plan::Plan& plan) { plan.backend_settings["volumes"] = {"/:/host"}; }},
      {"backend", [](plan::Plan& plan) { plan.backend = "other"; }}};
  for (const char* tier : {"node", "sandbox"}) {
    const plan::Plan asked = degraded(tier);
    EXPECT_EQ(kind_of(decide(asked, {}, {grant_of(asked)})), Is::allowed);
    for (const auto& [what, change] : changes) {
      plan::Plan other = asked;
      change(other);
      EXPECT_EQ(kind_of(decide(other, {}, {grant_of(asked)})), Is::asked) << tier << ": another " << what;
    }
  }
}

TEST(Decide, TheSandboxTierIsNotAskedAbout) {
  Rules strict;
  strict.node.security = Security::deny;
  EXPECT_EQ(kind_of(decide(plan_for("sandbox"), strict, {})), Is::allowed);
  const plan::Plan other = degraded("sandbox");
  EXPECT_EQ(kind_of(decide(other, strict, {})), Is::asked);
  EXPECT_EQ(kind_of(decide(other, strict, {grant_of(other)})), Is::allowed);
}

TEST(Decide, ATierWithoutRulesAdmitsNothing) {
  Rules loose;
  loose.node = {Security::full, Ask::off, {}, "", "", ""};
  EXPECT_EQ(kind_of(decide(plan_for("gateway"), {}, {})), Is::allowed) << "it starts no command";
  for (const char* tier : {"", "NODE", "GATEWAY"}) {
    EXPECT_EQ(kind_of(decide(plan_for(tier), loose, {})), Is::denied) << tier;
  }
}

TEST(Decide, TheQuestionSaysWhatWhereWhyAndAtWhatPrice) {
  const Decision decision = decide(plan_for("node"), {}, {});
  const AdmissionQuestion& question = std::get<Asked>(decision).question;
  EXPECT_EQ(question.tier, "node");
  EXPECT_EQ(question.backend, "local");
  EXPECT_EQ(question.argv, (std::vector<std::string>{"make", "test"}));
  EXPECT_EQ(question.command, "make test");
  EXPECT_EQ(question.cwd, "/home/u/p");
  EXPECT_THAT(question.why, HasSubstr("admission.node.allow"));
  EXPECT_FALSE(question.isolation_lost.empty());
}

TEST(Decide, OneQuestionNamesTheReasonAndEveryProtectionLost) {
  const Decision decision = decide(degraded("node"), {}, {});
  const AdmissionQuestion& question = std::get<Asked>(decision).question;
  EXPECT_THAT(question.why, HasSubstr("\"bwrap\" can't be used: bwrap is not installed"));
  EXPECT_EQ(question.isolation_lost, (std::vector<std::string>{"files: all of them", "network: all of it"}));
}

TEST(Decide, TheHintIsTheOneCommandThatAllowsIt) {
  plan::Plan plan = plan_for("node");
  plan.argv = {"sh", "-c", "echo 'a'\nrm b"};
  const Decision decision = decide(plan, {}, {});
  EXPECT_EQ(std::get<Asked>(decision).hint,
            R"(to allow exactly this command: exechost approvals allow --tier node -- sh -c $'echo \'a\'\nrm b')");
  plan.argv = {"printf", "\xff"};
  EXPECT_THAT(std::get<Asked>(decide(plan, {}, {})).hint, HasSubstr("not valid UTF-8"));
}

TEST(Refusals, WithoutAPersonAQuestionIsARefusal) {
  const plan::Plan plan = plan_for("node");
  const Decision decision = decide(plan, {}, {});
  EXPECT_FALSE(refused_without_asking(plan, decision, true));
  const auto refused = refused_without_asking(plan, decision, false);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, FailureKind::denied);
  EXPECT_EQ(refused->phase, Phase::admission);
  EXPECT_EQ(refused->backend, "local");
  EXPECT_THAT(refused->message, HasSubstr("nobody to ask"));
  EXPECT_THAT(refused->hint, HasSubstr("exechost approvals allow"));
}

TEST(Refusals, OfAWeakerPlaceWithoutAPersonIsTheFirstReason) {
  const plan::Plan plan = degraded("node");
  const auto refused = refused_without_asking(plan, decide(plan, {}, {}), false);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, FailureKind::unavailable);
  EXPECT_EQ(refused->message, "bwrap is not installed");
}

TEST(Refusals, OfAWeakerPlaceThatIsDeniedIsTheFirstReasonToo) {
  Rules strict;
  strict.node.security = Security::deny;
  const plan::Plan plan = degraded("node");
  const auto refused = refused_without_asking(plan, decide(plan, strict, {}), true);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, FailureKind::unavailable);
  EXPECT_THAT(refused->hint, HasSubstr("fallback: local: admission.node.security is deny"));
}

TEST(Refusals, EveryAnswerThatIsNoYesIsDenied) {
  const plan::Plan plan = plan_for("node");
  const auto asked = std::get<Asked>(decide(plan, {}, {}));
  for (const Answer answer : {Answer::deny, Answer::no_route, Answer::timed_out, Answer::cancelled}) {
    EXPECT_EQ(refused_by(plan, asked, answer).kind, FailureKind::denied) << to_string(answer);
  }
}

}  // namespace
}  // namespace exechost::admission

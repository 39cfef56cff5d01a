// Admission as a framework meets it: an ExecHost with an approver, and commands of the node tier.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host_support.hpp"
#include "tests/support/person.hpp"

namespace exechost {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::always;
using test::HostScene;
using test::Person;
using test::silent;
using ::testing::Contains;
using ::testing::HasSubstr;

class AdmissionHost : public ::testing::TestWithParam<KeeperPlacement> {
 protected:
  std::unique_ptr<ExecHost> host_with(Person& person) {
    scene.options.approver = person.approver();
    return std::make_unique<ExecHost>(scene.options);
  }
  static Request command(const std::string& script) {
    Request request = test::shell(script);
    request.backend = "local";
    return request;
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(scene.workspace + "/" + name); }

  HostScene scene{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Placements, AdmissionHost,
                         ::testing::Values(KeeperPlacement::in_process, KeeperPlacement::child), [](const auto& entry) {
                           return entry.param == KeeperPlacement::child ? "child" : "in_process";
                         });

TEST_P(AdmissionHost, OnceIsForOneTime) {
  Person person(always(Answer::once));
  const auto host = host_with(person);
  for (std::size_t run = 1; run <= 2; ++run) {
    const ExecResult result = host->run(command("echo ran"));
    EXPECT_EQ(result.status, Status::exited) << result.to_json();
    EXPECT_EQ(result.out.data, "ran\n");
    EXPECT_EQ(result.approval, "once");
    EXPECT_TRUE(result.phase_times.contains("admission"));
    EXPECT_EQ(person.questions().size(), run);
  }
  const AdmissionQuestion question = person.questions().front();
  EXPECT_EQ(question.argv, (std::vector<std::string>{"/bin/sh", "-c", "echo ran"}));
  EXPECT_EQ(question.cwd, scene.workspace);
  EXPECT_FALSE(question.deadline);
}

TEST_P(AdmissionHost, SessionIsForTheSameCommandAgain) {
  Person person(always(Answer::session));
  const auto host = host_with(person);
  EXPECT_EQ(host->run(command("echo one")).approval, "session");
  const ExecResult again = host->run(command("echo one"));
  EXPECT_EQ(again.status, Status::exited);
  EXPECT_EQ(again.approval, "") << "nobody was asked";
  EXPECT_EQ(person.questions().size(), 1U);
  host->run(command("echo two"));
  EXPECT_EQ(person.questions().size(), 2U);
}

TEST_P(AdmissionHost, EverythingElseIsNo) {
  for (const Answer answer : {Answer::deny, Answer::no_route, Answer::timed_out, Answer::cancelled}) {
    Person person(always(answer));
    const auto host = host_with(person);
    const ExecResult result = host->run(command("touch made"));
    EXPECT_EQ(result.status, Status::failed) << to_string(answer);
    EXPECT_EQ(result.started, Started::no);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->kind, FailureKind::denied);
    EXPECT_EQ(result.failure->phase, Phase::admission);
    EXPECT_EQ(result.tier, "node");
    EXPECT_FALSE(exists("made"));
    EXPECT_EQ(scene.ledger_entries(), 0U);
  }
}

TEST_P(AdmissionHost, WithoutAnApproverStartSaysSoAtOnce) {
  ExecHost host(scene.options);
  const auto started = host.start(command("touch made"));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().kind, FailureKind::denied);
  EXPECT_THAT(started.error().hint, HasSubstr("exechost approvals allow --tier node -- /bin/sh -c 'touch made'"));
  EXPECT_FALSE(exists("made"));
}

TEST_P(AdmissionHost, ACancelledCommandWithdrawsItsQuestion) {
  Person person(silent);
  const auto host = host_with(person);
  auto execution = host->start(command("touch made"));
  ASSERT_TRUE(execution) << describe(execution.error());
  ASSERT_TRUE(person.wait_until_asked());
  EXPECT_FALSE(execution->running());
  execution->cancel();
  const ExecResult& result = execution->wait();
  EXPECT_EQ(result.status, Status::cancelled) << result.to_json();
  EXPECT_EQ(result.stopped_phase, Phase::admission);
  EXPECT_EQ(result.started, Started::no);
  EXPECT_FALSE(exists("made"));
}

TEST_P(AdmissionHost, ACancelThatComesBeforeTheQuestionHoldsToo) {
  Person person(silent);
  const auto host = host_with(person);
  auto execution = host->start(command("touch made"));
  ASSERT_TRUE(execution) << describe(execution.error());
  execution->cancel();
  EXPECT_EQ(execution->wait().status, Status::cancelled);
  EXPECT_FALSE(exists("made"));
}

TEST_P(AdmissionHost, TheDeadlineHoldsWhileSomebodyThinks) {
  Person person(silent);
  const auto host = host_with(person);
  Request request = command("touch made");
  request.timeout = 300ms;
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_EQ(result.stopped_phase, Phase::admission);
  EXPECT_EQ(result.started, Started::no);
  ASSERT_EQ(person.questions().size(), 1U);
  EXPECT_TRUE(person.questions().front().deadline);
  EXPECT_FALSE(exists("made"));
}

TEST_P(AdmissionHost, DestroyingTheHostWithdrawsEveryQuestion) {
  Person person(silent);
  auto host = host_with(person);
  auto first = host->start(command("touch made"));
  auto second = host->start(command("touch made"));
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(person.wait_until_asked());
  host.reset();
  EXPECT_EQ(first->wait().status, Status::cancelled);
  EXPECT_EQ(second->wait().status, Status::cancelled);
  EXPECT_FALSE(exists("made"));
}

TEST_P(AdmissionHost, ABackendThatFailsOnTheWayIsAskedAboutOnce) {
  Person person(always(Answer::once));
  const auto host = host_with(person);
  Request request = test::shell("echo ran >> ran.txt; cat");
  request.standard_input.kind = StdinSource::Kind::bytes;
  request.standard_input.bytes = "input";
  request.settings_json = json{{"backend", "unable"},
                               {"fallback", {"local"}},
                               {"on_unavailable", "ask"},
                               {"plugins", {{"directories", {EXECHOST_UNABLE_FOLDER}}}},
                               {"backends", {{"unable", {{"open", "fail"}}}}}}
                              .dump();
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.status, Status::exited) << result.to_json();
  EXPECT_EQ(result.tier, "node");
  EXPECT_EQ(result.backend, "local");
  EXPECT_EQ(result.out.data, "input") << "the second attempt gets all of the input";
  EXPECT_EQ(result.approval, "once");
  ASSERT_EQ(result.attempts.size(), 1U);
  EXPECT_EQ(result.attempts[0].backend, "unable");
  ASSERT_EQ(person.questions().size(), 1U);
  EXPECT_THAT(person.questions().front().why, HasSubstr("\"unable\" can't be used"));
  EXPECT_THAT(person.questions().front().isolation_lost, Contains(HasSubstr("files:")));
}

TEST_P(AdmissionHost, NoToTheWeakerPlaceRunsNothing) {
  Person person(always(Answer::deny));
  const auto host = host_with(person);
  Request request = test::shell("touch made");
  request.settings_json = json{{"backend", "unable"},
                               {"fallback", {"local"}},
                               {"on_unavailable", "ask"},
                               {"plugins", {{"directories", {EXECHOST_UNABLE_FOLDER}}}},
                               {"backends", {{"unable", {{"open", "fail"}}}}}}
                              .dump();
  const ExecResult result = host->run(request);
  EXPECT_EQ(result.failure->kind, FailureKind::denied) << result.to_json();
  ASSERT_EQ(result.attempts.size(), 1U);
  EXPECT_EQ(result.attempts[0].failure.kind, FailureKind::provision_failed);
  EXPECT_FALSE(exists("made"));
}

}  // namespace
}  // namespace exechost

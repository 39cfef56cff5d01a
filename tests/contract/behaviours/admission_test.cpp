// What happens when the place that was chosen can't be used, and what a person's answer is worth.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/contract/behaviours/place.hpp"
#include "tests/support/person.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Asked : public InEachPlace {
 protected:
  void ask(Person& person) {
    HostOptions options = options_of_host();
    options.approver = person.approver();
    use(std::move(options));
  }
  bool ran() const { return std::filesystem::exists(path("ran")); }
  static Request with(Request request, const json& settings) {
    json all = request.settings_json.empty() ? json::object() : json::parse(request.settings_json);
    all.merge_patch(settings);
    request.settings_json = all.dump();
    return request;
  }
};

class ABrokenSandbox : public Asked {
 protected:
  ABrokenSandbox() { user_settings(R"({"backends": {"bwrap": {"path": "/no/such/bwrap"}}})"); }
};
INSTANTIATE_TEST_SUITE_P(In, ABrokenSandbox, ::testing::Values(Where::alone, Where::session), place_name);

// Elsewhere: commands ran on the host without a word when a setting did not arrive, a program was missing or a
// machine was down.
TEST_P(ABrokenSandbox, RunsNothingWhereNobodyCanBeAsked) {
  const ExecResult broken = run("touch ran");
  ASSERT_TRUE(broken.failure) << broken.to_json();
  EXPECT_EQ(broken.failure->kind, FailureKind::unavailable) << describe(*broken.failure);
  EXPECT_THAT(broken.failure->message, HasSubstr("/no/such/bwrap"));
  EXPECT_FALSE(broken.failure->hint.empty());
  EXPECT_EQ(broken.started, Started::no);
  // One whose machine does not answer: at the first look, or when something is to be made there.
  for (const char* at : {"probe", "open"}) {
    const json rule{{"at", at}, {"fail", {{"kind", "unavailable"}, {"message", "the machine does not answer"}}}};
    const ExecResult down =
        host().run(with(script("touch ran"), {{"backend", "scripted"},
                                              {"best_effort", {"*"}},
                                              {"plugins", {{"directories", {EXECHOST_SCRIPTED_FOLDER}}}},
                                              {"backends", {{"scripted", {{"script", {{"rules", {rule}}}}}}}}}));
    ASSERT_TRUE(down.failure) << down.to_json();
    EXPECT_EQ(down.failure->kind, FailureKind::unavailable) << describe(*down.failure);
    EXPECT_EQ(down.failure->message, "the machine does not answer");
    EXPECT_EQ(down.started, Started::no);
  }
  EXPECT_EQ(run_command_line({"touch", "ran"}).exit_status(), 125);
  EXPECT_FALSE(ran());
}

TEST_P(ABrokenSandbox, IsOneQuestionThatNamesWhatIsLost) {
  Person person(always(Answer::deny));
  ask(person);
  const ExecResult denied = run("touch ran");
  ASSERT_TRUE(denied.failure);
  EXPECT_EQ(denied.failure->kind, FailureKind::denied) << describe(*denied.failure);
  EXPECT_FALSE(ran());
  ASSERT_EQ(person.questions().size(), 1U);
  const AdmissionQuestion question = person.questions().front();
  EXPECT_EQ(question.backend, "local");
  EXPECT_EQ(question.tier, "node");
  EXPECT_THAT(question.argv, Contains("touch ran"));
  EXPECT_THAT(question.why, HasSubstr("backend \"bwrap\" can't be used"));
  EXPECT_THAT(question.isolation_lost, Contains(HasSubstr("files:")));
  EXPECT_THAT(question.isolation_lost, Contains(HasSubstr("network:")));
}

TEST_P(ABrokenSandbox, AfterAYesTheResultSaysWhereItRan) {
  Person person(always(Answer::once));
  ask(person);
  const ExecResult result = run("touch ran");
  EXPECT_EQ(result.exit_code, 0) << why(result);
  EXPECT_EQ(result.backend, "local");
  EXPECT_EQ(result.approval, "once");
  EXPECT_TRUE(ran());
  const ExecResult closed = host().run(with(script("touch again"), {{"on_unavailable", "closed"}}));
  EXPECT_EQ(closed.failure->kind, FailureKind::unavailable);
  EXPECT_EQ(person.questions().size(), 1U) << "nobody is asked where the answer can only be no";
  EXPECT_FALSE(std::filesystem::exists(path("again")));
}

class DenyRules : public Asked {};
INSTANTIATE_TEST_SUITE_P(In, DenyRules, ::testing::Values(Where::alone, Where::session), place_name);

// Elsewhere: a sandbox is taken for so safe that nothing else is checked, with secrets shown in it. Here the deny rules
// are about files, domains and the node tier; rules about single commands do not exist yet.
TEST_P(DenyRules, HoldInASandboxWhateverElseIsAllowed) {
  scene_->file("ws/secret", "secret");
  scene_->file("ws/folder/inner", "secret");
  scene_->file("ws/fixed", "fixed");
  user_settings(R"({"filesystem": {"deny_read": [")" + path("secret") + R"(", ")" + path("folder") +
                R"("], "deny_write": [")" + path("fixed") + R"("]}})");
  Request request = script("cat secret; cat folder/inner; echo changed > fixed; rm -f fixed; mv fixed away; cat fixed");
  request.settings_json = json{{"filesystem",
                                {{"allow_read", {path("secret"), path("folder")}},
                                 {"allow_write", {path("secret"), path("fixed"), scene_->workspace()}},
                                 {"deny_read", json::array()},
                                 {"deny_write", json::array()}}}}
                              .dump();
  const ExecResult result = host().run(placed(request));
  EXPECT_EQ(result.out.data, "fixed") << why(result);
  EXPECT_EQ(read_file(path("fixed")), "fixed");
}

// The same for the way out of a sandbox that can't be built.
TEST_P(DenyRules, NobodyIsAskedAboutWhatIsDenied) {
  user_settings(R"({"backends": {"bwrap": {"path": "/no/such/bwrap"}}, "on_unavailable": "open",
                    "admission": {"node": {"security": "deny", "allow": [["touch", "ran"]]}}})");
  Person person(always(Answer::session));
  ask(person);
  for (const char* mode : {"ask", "closed"}) {
    const ExecResult result = host().run(with(words({"touch", "ran"}), {{"on_unavailable", mode}}));
    EXPECT_EQ(result.started, Started::no) << why(result);
  }
  const ExecResult open = host().run(words({"touch", "ran"}));
  EXPECT_EQ(open.started, Started::no) << why(open);
  const ExecResult named = host().run([&] {
    Request request = words({"touch", "ran"});
    request.backend = "local";
    request.settings_json.clear();
    return request;
  }());
  ASSERT_TRUE(named.failure);
  EXPECT_EQ(named.failure->kind, FailureKind::denied) << describe(*named.failure);
  EXPECT_THAT(person.questions(), IsEmpty());
  EXPECT_FALSE(ran());
}

class NodeRules : public Asked {};
INSTANTIATE_TEST_SUITE_P(In, NodeRules, ::testing::Values(Where::node), place_name);

TEST_P(NodeRules, TheAdministratorsNoIsAboveTheUsersYes) {
  HostOptions options = options_of_host();
  options.system_config_dir = scene_->base() + "/etc";
  scene_->file("etc/managed.json", R"({"admission": {"node": {"security": "deny"}}})", 0600);
  Person person(always(Answer::session));
  options.approver = person.approver();
  use(std::move(options));
  const ExecResult result = run("touch ran");
  ASSERT_TRUE(result.failure) << result.to_json();
  EXPECT_EQ(result.failure->kind, FailureKind::denied) << describe(*result.failure);
  EXPECT_THAT(person.questions(), IsEmpty());
  EXPECT_FALSE(ran());
}

// Elsewhere: what was approved once is remembered by a pattern, and holds for other commands and in other places.
TEST_P(NodeRules, AnAnswerIsForExactlyThisCommandHere) {
  user_settings("{}");
  Person person(always(Answer::session));
  ask(person);
  scene_->folder("ws/other");
  const auto asked_about = [&](const Request& request) {
    const std::size_t before = person.questions().size();
    const ExecResult result = host().run(request);
    EXPECT_EQ(result.status, Status::exited) << why(result);
    return person.questions().size() > before;
  };
  const Request approved = words({"sh", "-c", "true"});
  EXPECT_TRUE(asked_about(approved));
  EXPECT_FALSE(asked_about(approved)) << "the same again";
  EXPECT_TRUE(asked_about(words({"sh", "-c", "true "})));
  EXPECT_TRUE(asked_about(words({"sh", "-c", "true", "x"})));
  EXPECT_TRUE(asked_about(words({"/bin/sh", "-c", "true"})));
  Request elsewhere = approved;
  elsewhere.cwd = path("other");
  EXPECT_TRUE(asked_about(elsewhere)) << "./run is another program there";
  Request with_variable = approved;
  with_variable.env = {{"PATH", path("other") + ":/usr/bin:/bin"}};
  EXPECT_TRUE(asked_about(with_variable)) << "sh is perhaps another program there";
  EXPECT_FALSE(asked_about(approved));
}

// A weaker place that is a sandbox of another backend.
class WeakerSandbox : public Asked {
 protected:
  WeakerSandbox() {
    json claims;
    for (const char* name : {"files", "network.none", "network.full"}) {
      claims[name] = {{"grade", "kernel"}, {"evidence", "claimed"}};
    }
    const json script{{"rules", json::array()}, {"claims", claims}};
    user_settings(json{{"backends", {{"bwrap", {{"path", "/no/such/bwrap"}}}, {"scripted", {{"script", script}}}}},
                       {"fallback", {"scripted"}},
                       {"best_effort", {"*"}},
                       {"plugins", {{"directories", {EXECHOST_SCRIPTED_FOLDER}}}}}
                      .dump());
  }
};
INSTANTIATE_TEST_SUITE_P(In, WeakerSandbox, ::testing::Values(Where::alone, Where::session), place_name);

TEST_P(WeakerSandbox, AnAnswerIsForItsBackendAndItsMounts) {
  Person person(always(Answer::session));
  ask(person);
  const auto asked_about = [&](const Request& request) {
    const std::size_t before = person.questions().size();
    const ExecResult result = host().run(request);
    EXPECT_EQ(result.status, Status::exited) << why(result);
    return person.questions().size() > before;
  };
  const Request approved = words({"sh", "-c", "true"});
  EXPECT_TRUE(asked_about(approved));
  EXPECT_EQ(person.questions().back().backend, "scripted");
  EXPECT_FALSE(asked_about(approved)) << "the same again";
  EXPECT_TRUE(asked_about(with(approved, {{"filesystem", {{"allow_write", {scene_->outside()}}}}})));
  EXPECT_TRUE(asked_about(with(approved, {{"network", {{"mode", "full"}}}})));
  EXPECT_TRUE(asked_about(with(approved, {{"fallback", {"local"}}})));
  EXPECT_EQ(person.questions().back().backend, "local");
  EXPECT_FALSE(asked_about(approved));
}

}  // namespace
}  // namespace exechost::test

#include "core/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "core/base/base64.hpp"
#include "core/gateway/statement.hpp"
#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const SettingReport* report(const Plan& plan, const std::string& name) {
  for (const SettingReport& entry : plan.settings) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// ---- the command ------------------------------------------------------------------------------

TEST(Command, IsPassedOnByteForByte) {
  Planned planned;
  planned.request.argv = {"printf", "", "a b", "\xff\n"};
  const auto plan = planned.plan();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->argv, planned.request.argv);
  const json document = to_json(*plan);
  EXPECT_EQ(document["argv"][3], "\xEF\xBF\xBD\n");
  EXPECT_EQ(document["argv_base64"][3], base64_encode("\xff\n"));
  planned.request.argv.pop_back();
  EXPECT_FALSE(to_json(*planned.plan()).contains("argv_base64"));
}

TEST(Command, ShellIsRunByTheEnvironmentsShell) {
  Planned planned;
  planned.request.argv.clear();
  planned.request.shell = "echo \"a b\" | cat";
  ASSERT_TRUE(planned.plan());
  EXPECT_THAT(planned.plan()->argv, ElementsAre("/bin/sh", "-c", "echo \"a b\" | cat"));
}

TEST(Command, MustBeExactlyOneAndUsable) {
  using namespace std::string_literals;
  const auto refused = [](auto change) {
    Planned planned;
    change(planned.request);
    const auto plan = planned.plan();
    EXPECT_FALSE(plan);
    return !plan && plan.error().kind == FailureKind::invalid_request;
  };
  EXPECT_TRUE(refused([](Request& request) { request.argv.clear(); }));
  EXPECT_TRUE(refused([](Request& request) { request.shell = "x"; }));
  EXPECT_TRUE(refused([](Request& request) { request.argv = {""}; }));
  EXPECT_TRUE(refused([](Request& request) { request.argv = {"x", "a\0b"s}; }));
  EXPECT_TRUE(refused([](Request& request) { request.argv.clear(), request.shell = "a\0b"s; }));
  EXPECT_TRUE(refused([](Request& request) { request.cwd = "a\0b"s; }));
}

// ---- tier and candidates ------------------------------------------------------------------------

TEST(Tier, TheGatewayIsAPlaceOfItsOwnWithTheSandboxsFiles) {
  Planned planned;
  planned.settings.set("tier", "gateway");
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unavailable) << "nothing stands in for it";
  BackendFacts inside;
  inside.id = kGatewayBackend;
  inside.statement = gateway::statement();
  inside.probe = gateway::probe();
  planned.backends = {inside};
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tier, "gateway");
  EXPECT_EQ(plan->backend, kGatewayBackend);
  EXPECT_TRUE(plan->confinement.none);
  EXPECT_FALSE(plan->view.entries.empty());
  EXPECT_EQ(plan->guest, GuestEntry::none);
  planned.request.tty = true;
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported) << "there is no terminal in it";
}

struct Unusable {
  const char* name;
  void (*change)(Planned&);
  const char* says;
};
class UnusableBackend : public ::testing::TestWithParam<Unusable> {};

TEST_P(UnusableBackend, IsUnavailableWithTheReason) {
  Planned planned;
  GetParam().change(planned);
  const auto plan = planned.plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, FailureKind::unavailable);
  EXPECT_EQ(plan.error().phase, Phase::plan);
  EXPECT_EQ(plan.error().backend, "bwrap");
  EXPECT_THAT(describe(plan.error()), HasSubstr(GetParam().says));
}

TEST_P(UnusableBackend, OpenGoesToTheNextWithAWarning) {
  Planned planned;
  planned.backends.push_back(bwrap());
  planned.backends.back().id = planned.backends.back().statement.backend = "second";
  GetParam().change(planned);
  planned.settings.set("fallback", {"third", "second", "local"}).set("on_unavailable", "open");
  const auto plan = planned.plan();
  if (std::string(GetParam().name) == "PlatformNotEnabled") {
    ASSERT_FALSE(plan) << "a platform that is off is off for every backend";
    EXPECT_EQ(plan.error().kind, FailureKind::unavailable);
    return;
  }
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->backend, "second");
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("instead")));
  ASSERT_EQ(plan->candidates.size(), 4U);
  EXPECT_TRUE(plan->candidates[0].rejected);
  EXPECT_EQ(plan->candidates[1].rejected->kind, FailureKind::unavailable);
  EXPECT_FALSE(plan->candidates[2].rejected);
  EXPECT_EQ(plan->candidates[3].rejected->kind, FailureKind::unavailable);
}

TEST_P(UnusableBackend, AskAndClosedRefuseAndSayWhatThereWouldBe) {
  for (const char* mode : {"ask", "closed"}) {
    Planned planned;
    planned.backends.push_back(bwrap());
    planned.backends.back().id = "second";
    GetParam().change(planned);
    planned.settings.set("fallback", {"second"}).set("on_unavailable", mode);
    const auto plan = planned.plan();
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().backend, "bwrap");
    EXPECT_THAT(plan.error().hint, HasSubstr("second"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, UnusableBackend,
    ::testing::Values(
        Unusable{"NotInstalled", [](Planned& planned) { planned.backends.erase(planned.backends.begin()); },
                 "not installed"},
        Unusable{"NotReady",
                 [](Planned& planned) {
                   planned.backends[0].probe->ready = false;
                   planned.backends[0].probe->reason = "bwrap is missing";
                   planned.backends[0].probe->hint = "apt-get install bubblewrap";
                 },
                 "apt-get install bubblewrap"},
        Unusable{"NotProbed", [](Planned& planned) { planned.backends[0].probe.reset(); }, "not probed"},
        Unusable{"NotLoadable",
                 [](Planned& planned) {
                   planned.backends[0].unusable =
                       Failure{FailureKind::unavailable, Phase::plan, "bad manifest", "", "", 0, "", "", ""};
                 },
                 "bad manifest"},
        Unusable{"AnotherPlatform", [](Planned& planned) { planned.backends[0].statement.platforms = {"plan9"}; },
                 "platform"},
        Unusable{"PlatformNotEnabled", [](Planned& planned) { planned.settings.set("enabled_platforms", {"darwin"}); },
                 "enabled_platforms"}),
    [](const auto& test) { return test.param.name; });

TEST(Candidates, AFailedStartLetsTheNextOneRun) {
  for (const FailureKind kind : {FailureKind::unavailable, FailureKind::provision_failed, FailureKind::plugin_crashed,
                                 FailureKind::protocol_error}) {
    Planned planned;
    planned.backends.push_back(bwrap());
    planned.backends.back().id = "second";
    planned.settings.set("fallback", {"second"}).set("on_unavailable", "open");
    Failure failure;
    failure.kind = kind;
    failure.message = "went wrong";
    planned.backends[0].unusable = failure;
    ASSERT_TRUE(planned.plan()) << to_string(kind);
    EXPECT_EQ(planned.plan()->backend, "second");
  }
}

TEST(Candidates, UnsupportedNeverFallsBack) {
  Planned planned;
  planned.backends.push_back(bwrap());
  planned.backends.back().id = "second";
  grant(planned.backends.back(), "image", Grade::kernel);
  planned.settings.set("fallback", {"second"}).set("on_unavailable", "open").set("image", "debian:12");
  const auto plan = planned.plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, FailureKind::unsupported);
  EXPECT_EQ(plan.error().backend, "bwrap");
  EXPECT_THAT(plan.error().hint, HasSubstr("second")) << "names who has it";
}

TEST(Candidates, OneThatCanNotCarryTheRequestIsSkipped) {
  Planned planned;
  planned.backends[0].probe->ready = false;
  for (const char* id : {"second", "third"}) {
    planned.backends.push_back(bwrap());
    planned.backends.back().id = id;
  }
  grant(planned.backends[2], "memory", Grade::kernel);
  planned.settings.set("fallback", {"second", "third"}).set("on_unavailable", "open").set("resources.memory", 1000);
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->backend, "third");
  EXPECT_EQ(plan->candidates[1].rejected->kind, FailureKind::unsupported);
}

TEST(OnUnavailable, FollowsFailIfUnavailable) {
  Planned planned;
  planned.settings.set("fail_if_unavailable", true);
  EXPECT_EQ(planned.plan()->on_unavailable, "closed");
  planned.settings.set("fail_if_unavailable", false);
  EXPECT_EQ(planned.plan()->on_unavailable, "open");
  planned.settings.set("on_unavailable", "open");
  EXPECT_EQ(planned.plan()->on_unavailable, "open");
  planned.settings.set("on_unavailable", "closed");
  const auto plan = planned.plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, FailureKind::invalid_request);
}

// ---- negotiation --------------------------------------------------------------------------------

struct Wanted {
  const char* setting;
  json value;
  const char* capability;
};
class Requirement : public ::testing::TestWithParam<Wanted> {};

TEST_P(Requirement, HoldsFromEmulatedOn) {
  for (const Grade grade : {Grade::unsupported, Grade::advisory, Grade::emulated, Grade::provider, Grade::kernel}) {
    Planned planned;
    planned.machine.facts.uid = 0;  // so that pids has no second way
    grant(planned.backends[0], "persistent", Grade::kernel);
    grant(planned.backends[0], GetParam().capability, grade);
    planned.settings.set(GetParam().setting, GetParam().value);
    if (std::string(GetParam().setting) == "network.mode")
      planned.settings.set("network.allowed_domains", {"example.com"});
    const auto plan = planned.plan();
    ASSERT_EQ(plan.has_value(), grade >= Grade::emulated) << to_string(grade);
    if (!plan) {
      EXPECT_EQ(plan.error().kind, FailureKind::unsupported);
      EXPECT_THAT(plan.error().message, HasSubstr(GetParam().setting));
      continue;
    }
    const SettingReport* entry = report(*plan, GetParam().setting);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->requested, GetParam().value.dump());
    EXPECT_EQ(entry->effective, GetParam().value.dump());
    EXPECT_EQ(entry->grade, to_string(grade));
    EXPECT_EQ(entry->origin, std::string("--") + GetParam().setting);
  }
}

TEST_P(Requirement, IsReportedAsNotInForceUnderBestEffort) {
  for (const char* best : {GetParam().setting, "*"}) {
    Planned planned;
    planned.machine.facts.uid = 0;
    planned.settings.set(GetParam().setting, GetParam().value).set("best_effort", json::array({best}));
    if (std::string(GetParam().setting) == "network.mode")
      planned.settings.set("network.allowed_domains", {"example.com"});
    const auto plan = planned.plan();
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_NE(report(*plan, GetParam().setting)->effective, GetParam().value.dump());
    EXPECT_THAT(plan->warnings, Contains(HasSubstr(GetParam().setting)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, Requirement,
    ::testing::Values(Wanted{"image", "debian:12", "image"}, Wanted{"resources.cpu", 0.5, "cpu"},
                      Wanted{"resources.memory", 1048576, "memory"}, Wanted{"resources.disk", 1048576, "disk"},
                      Wanted{"resources.pids", 10, "pids"}, Wanted{"session.persistent", true, "persistent"},
                      Wanted{"session.name", "s", "persistent"}, Wanted{"network.mode", "full", "network.full"},
                      Wanted{"network.mode", "filtered", "network.filtered"}),
    [](const auto& test) {
      std::string name = std::string(test.param.setting) + "_" + test.param.capability;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(Negotiation, WhereNobodyHidesFilesTheGuestIsNotToldToLookForThem) {
  const auto out_of_reach = [](const Plan& plan) {
    return std::count_if(plan.confinement.view_checks.begin(), plan.confinement.view_checks.end(),
                         [](const ViewCheck& check) { return !check.same; });
  };
  Planned planned;
  planned.settings.set("best_effort", {"filesystem"});
  auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_GT(out_of_reach(*plan), 0) << "best_effort alone changes nothing";
  grant(planned.backends[0], "files", Grade::advisory);
  plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(out_of_reach(*plan), 0);
  EXPECT_FALSE(plan->confinement.view_checks.empty());
}

TEST(Negotiation, WhereNobodyCarriesOutTheViewItIsNotPromised) {
  const auto writes = [](const Plan& plan, const std::string& path) {
    const auto& rules = plan.confinement.landlock_rules;
    return std::any_of(rules.begin(), rules.end(),
                       [&](const LandlockRule& rule) { return rule.path == path && rule.writable; });
  };
  Planned planned;
  planned.settings.set("best_effort", {"filesystem"});
  auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(writes(*plan, "/tmp")) << "a private one";
  EXPECT_THAT(to_text(*plan), Not(HasSubstr("does NOT carry out")));
  grant(planned.backends[0], "files", Grade::advisory);
  plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(writes(*plan, "/tmp")) << "this machine's own";
  EXPECT_TRUE(writes(*plan, plan->workspace));
  EXPECT_THAT(to_text(*plan), HasSubstr("does NOT carry out"));
  EXPECT_THAT(plan->isolation, Contains(HasSubstr("against writing only")));
  ASSERT_NE(report(*plan, "resources.tmp_size"), nullptr);
  EXPECT_EQ(report(*plan, "resources.tmp_size")->effective, "null") << "there is no private folder that it could bound";
}

TEST(Negotiation, BuiltInLimitsAreBestEffortAndReported) {
  Planned planned;
  planned.machine.facts.uid = 0;
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  const SettingReport* pids = report(*plan, "resources.pids");
  ASSERT_NE(pids, nullptr);
  EXPECT_EQ(pids->requested, "null");
  EXPECT_EQ(pids->effective, "null");
  EXPECT_EQ(pids->grade, "unsupported");
  EXPECT_FALSE(plan->persistent);
  EXPECT_EQ(report(*plan, "session.persistent")->effective, "false");
  EXPECT_THAT(plan->warnings, IsEmpty());
}

TEST(Negotiation, PidsOfAnOrdinaryUserAreTheKernels) {
  Planned planned;
  planned.settings.set("resources.pids", 10);
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(report(*plan, "resources.pids")->grade, "kernel");
  EXPECT_THAT(plan->confinement.rlimits, Contains(Rlimit{RLIMIT_NPROC, 10}));
  planned.machine.facts.uid = 0;
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
}

TEST(Negotiation, IsolationIsRequiredEvenWhenBuiltIn) {
  for (const char* capability : {"files", "network.none"}) {
    Planned planned;
    grant(planned.backends[0], capability, Grade::advisory);
    const auto plan = planned.plan();
    ASSERT_FALSE(plan) << capability;
    EXPECT_EQ(plan.error().kind, FailureKind::unsupported);
  }
}

TEST(Negotiation, FilteredToNothingIsNone) {
  Planned planned;
  planned.settings.set("network.mode", "filtered");
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->network.mode, "none");
  EXPECT_EQ(report(*plan, "network.mode")->requested, "\"filtered\"");
  EXPECT_EQ(report(*plan, "network.mode")->effective, "\"none\"");
  EXPECT_EQ(report(*plan, "network.mode")->grade, "kernel");
}

TEST(Negotiation, BestEffortNeverGivesMoreNetworkWhereItCanBeCut) {
  for (const char* mode : {"filtered", "full"}) {
    Planned planned;
    planned.settings.set("network.mode", mode)
        .set("network.allowed_domains", {"example.com"})
        .set("best_effort", {"*"});
    const auto plan = planned.plan();
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->network.mode, "none");
    EXPECT_THAT(plan->network.allowed_domains, IsEmpty());
  }
}

TEST(Negotiation, ADenyListNeedsAFilter) {
  Planned planned;
  grant(planned.backends[0], "network.full", Grade::kernel);
  planned.settings.set("network.mode", "full").set("network.denied_domains", {"example.com"});
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
  planned.settings.set("network.mode", "none");
  EXPECT_TRUE(planned.plan()) << "nothing is reachable anyway";
}

TEST(Negotiation, ANamedSessionLasts) {
  Planned planned;
  grant(planned.backends[0], "persistent", Grade::kernel);
  planned.settings.set("session.name", "s").set("session.persistent", false);
  EXPECT_EQ(planned.plan().error().kind, FailureKind::invalid_request);
  planned.settings.set("session.persistent", true);
  ASSERT_TRUE(planned.plan());
  EXPECT_TRUE(planned.plan()->persistent);
}

TEST(Plan, AScriptInASessionGoesOnFromTheLastOne) {
  Planned planned;
  grant(planned.backends[0], "persistent", Grade::kernel);
  planned.settings.set("session.persistent", true);
  EXPECT_FALSE(planned.plan()->shell) << "a command";
  planned.request.argv.clear();
  planned.request.shell = "make";
  planned.request.env = {{"A", "1"}, {"B", "2"}};
  auto plan = planned.plan();
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan->shell);
  EXPECT_EQ(plan->shell->script, "make");
  EXPECT_FALSE(plan->shell->cwd_given);
  EXPECT_FALSE(plan->shell->refuse_when_busy);
  EXPECT_THAT(plan->shell->given_variables, ElementsAre("A", "B"));
  EXPECT_TRUE(to_json(*plan)["shell_state"].get<bool>());
  EXPECT_THAT(to_text(*plan), HasSubstr("/bin/bash"));
  planned.request.cwd = "/usr";
  planned.settings.set("session.busy", "refuse");
  plan = planned.plan();
  EXPECT_TRUE(plan->shell->cwd_given);
  EXPECT_TRUE(plan->shell->refuse_when_busy);
  planned.settings.set("session.persistent", false);
  plan = planned.plan();
  EXPECT_FALSE(plan->shell);
  EXPECT_EQ(plan->argv, (std::vector<std::string>{"/bin/sh", "-c", "make"}));
}

TEST(Plan, WithoutTheGuestNothingOfAShellGoesOn) {
  Planned planned;
  grant(planned.backends[0], "persistent", Grade::kernel);
  planned.backends[0].statement.guest = GuestEntry::none;
  planned.settings.set("session.persistent", true).set("best_effort", true);
  planned.request.argv.clear();
  planned.request.shell = "make";
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << describe(plan.error());
  EXPECT_FALSE(plan->shell);
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("nothing of a shell's state")));
}

TEST(Plan, OverAStreamNothingOfAShellGoesOnAndThePlanSaysSo) {
  Planned planned;
  grant(planned.backends[0], "persistent", Grade::kernel);
  planned.settings.set("session.persistent", true);
  planned.request.argv.clear();
  planned.request.shell = "true";
  ASSERT_TRUE(planned.plan()->shell);
  planned.backends[0].statement.guest = GuestEntry::stream;
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << describe(plan.error());
  EXPECT_FALSE(plan->shell);
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("nothing of a shell's state")));
}

TEST(Negotiation, StreamsThatTheRequestNeeds) {
  Planned planned;
  grant(planned.backends[0], "pty", Grade::unsupported);
  EXPECT_TRUE(planned.plan());
  planned.request.tty = true;
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
  planned.request.tty = false;
  grant(planned.backends[0], "stdin", Grade::advisory);
  planned.request.standard_input.kind = StdinSource::Kind::bytes;
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
}

TEST(Negotiation, WorkspacesThatAreSentSomewhereAreNotThereYet) {
  for (const char* mode : {"upload", "mirror"}) {
    Planned planned;
    planned.settings.set("workspace.mode", mode).set("best_effort", {"*"});
    planned.workspace_copy = "/state/copy";
    EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
  }
}

TEST(Negotiation, ACopyIsSeenInTheWorkspacesPlace) {
  Planned planned;
  planned.machine.folder("/home/u/ws/src").file("/home/u/ws/src/kept").folder("/data");
  planned.settings.set("workspace.mode", "copy")
      .set("filesystem.deny_write", {"src/kept"})
      .set("filesystem.allow_write", {"/data"})
      .set("filesystem.deny_read", {"/home/u/ws/src/secret"});
  planned.workspace_copy = "/state/copy";
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << describe(plan.error());
  EXPECT_EQ(plan->workspace_copy, "/state/copy");
  const auto seen = shape(plan->view);
  EXPECT_THAT(seen, Contains("/home/u/ws=rw</state/copy"));
  EXPECT_THAT(seen, Contains("/home/u/ws/src=rw</state/copy/src"));
  EXPECT_THAT(seen, Contains("/home/u/ws/src/kept=ro</state/copy/src/kept"));
  EXPECT_THAT(seen, Contains("/data=rw"));
  // Nothing of the workspace itself is seen anywhere.
  for (const auto& line : seen) {
    if (line.starts_with("/home/u/ws")) {
      EXPECT_THAT(line, HasSubstr("</state/copy"));
    }
  }
}

TEST(Negotiation, ACopyIsSeenAlsoWhereTheWorkspaceLiesInSomethingWritable) {
  Planned planned;
  planned.machine.folder("/data/ws/src");
  planned.settings.set("workspace.path", "/data/ws")
      .set("workspace.mode", "copy")
      .set("filesystem.allow_write", {"/data"});
  planned.machine.facts.workspace = "/data/ws";
  planned.workspace_copy = "/state/copy";
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << describe(plan.error());
  const auto seen = shape(plan->view);
  const auto outer = std::find(seen.begin(), seen.end(), "/data=rw");
  const auto copy = std::find(seen.begin(), seen.end(), "/data/ws=rw</state/copy");
  ASSERT_NE(outer, seen.end());
  ASSERT_NE(copy, seen.end());
  EXPECT_LT(outer, copy);
}

TEST(Negotiation, ACopyOnlyWhereItIsWorthSomething) {
  Planned planned;
  planned.settings.set("workspace.mode", "copy").set("best_effort", {"*"});
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported)
      << "writing directly instead is no weaker form of copying";
  planned.workspace_copy = "/state/copy";
  EXPECT_TRUE(planned.plan());
  grant(planned.backends[0], "files", Grade::advisory);
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
  grant(planned.backends[0], "files", Grade::kernel);
  planned.backends[0].statement.locality = "remote";
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
  planned.backends = {local()};
  planned.settings.set("tier", "node");
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
}

TEST(Negotiation, ABuiltInNeedsAGuestAndAPlaceThatIsApart) {
  Planned planned;
  planned.builtin = true;
  planned.settings.set("resources.output_spill", true);
  const auto plan = planned.plan();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->builtin);
  EXPECT_FALSE(plan->output.spill) << "what goes through is kept nowhere";
  planned.backends[0].statement.guest = GuestEntry::none;
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
  planned.backends = {local()};
  planned.settings.set("tier", "node");
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
}

TEST(Negotiation, WithoutAGuestThePlanSaysWhatIsLost) {
  Planned planned;
  planned.backends[0].statement.guest = GuestEntry::none;
  const auto plan = planned.plan();
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("guest")));
  EXPECT_THAT(plan->isolation, Not(Contains(HasSubstr("Landlock"))));
  EXPECT_TRUE(open_document(*plan, {})["init"].is_null());
}

TEST(Negotiation, SettingsOfTheHostArriveInThePlan) {
  Planned planned;
  planned.settings.set("resources.timeout", 1500)
      .set("resources.kill_grace", 100)
      .set("resources.output_cap", 5)
      .set("resources.output_spill", true)
      .set("backends.bwrap", {{"program", "/usr/bin/bwrap"}});
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(plan->kill_grace, std::chrono::milliseconds(100));
  EXPECT_EQ(plan->output.cap_bytes, 5U);
  EXPECT_TRUE(plan->output.spill);
  EXPECT_EQ(plan->backend_settings["program"], "/usr/bin/bwrap");
  EXPECT_EQ(report(*plan, "resources.timeout")->effective, "1500");
}

// ---- what is shown ------------------------------------------------------------------------------

TEST(Shown, NoSecretIsInJsonOrTextOrTheOpenDocument) {
  Planned planned;
  planned.request.env = {{"API_KEY", "sentinel-1"}, {"DATABASE_URL", "postgres://sentinel-2"}};
  planned.settings.set("environment.set", {{"PLAIN", "sentinel-3"}});
  planned.machine.facts.environment["AWS_SECRET"] = "sentinel-4";
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->environment.at("API_KEY"), "sentinel-1");
  const std::string all = to_json(*plan).dump() + to_text(*plan) + open_document(*plan, {}).dump();
  EXPECT_THAT(all, Not(HasSubstr("sentinel")));
  EXPECT_THAT(all, HasSubstr("API_KEY"));
  EXPECT_THAT(all, HasSubstr("AWS_SECRET"));
}

TEST(Shown, TextCanNotRewriteATerminal) {
  Planned planned;
  planned.request.argv = {"printf", "\x1b[2J\xe2\x80\xae"};  // NOLINT(misc-misleading-bidirectional): it has to mislead
  planned.machine.folder("/home/u/ws/\x1b[31m");
  planned.request.cwd = "\x1b[31m";
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  const std::string text = to_text(*plan);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));  // NOLINT(misc-misleading-bidirectional): it has to mislead
}

TEST(OpenDocument, CarriesWhatABackendNeeds) {
  Planned planned;
  grant(planned.backends[0], "memory", Grade::kernel);
  planned.settings.set("resources.memory", 4096);
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  const json document =
      open_document(*plan, {"id1", "exechost-id1", {{"exechost.id", "id1"}}, 42, "/opt/exechost-guest"});
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["id"], "id1");
  EXPECT_EQ(document["name"], "exechost-id1");
  EXPECT_EQ(document["labels"]["exechost.id"], "id1");
  EXPECT_EQ(document["deadline_ns"], 42);
  EXPECT_EQ(document["memory"], 4096);
  EXPECT_TRUE(document["cpu"].is_null());
  EXPECT_EQ(document["workspace"]["path"], "/home/u/ws");
  EXPECT_EQ(document["init"]["source"], "/opt/exechost-guest");
  EXPECT_EQ(document["init"]["target"], "/run/exechost/guest");
  EXPECT_EQ(document["view"][0], (json{{"path", "/"}, {"access", "ro"}}));
  EXPECT_EQ(document["network"]["mode"], "none");
}

}  // namespace
}  // namespace exechost::plan::testing

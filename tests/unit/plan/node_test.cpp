// The node tier's plan, and the ways that lead there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/shell_words.hpp"
#include "support.hpp"

namespace exechost::plan::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Planned on_node() {
  Planned planned;
  planned.backends.push_back(local());
  planned.settings.set("tier", "node");
  planned.machine.facts.environment = {{"HOME", "/home/u"},     {"TMPDIR", "/scratch"}, {"PATH", "bin:/usr/bin:"},
                                       {"API_TOKEN", "secret"}, {"LANG", "C"},          {"PWD", "/elsewhere"}};
  return planned;
}

// bwrap is there and can't be used.
Planned without_bwrap(const char* on_unavailable) {
  Planned planned = on_node();
  planned.settings = SettingsBuilder();
  planned.settings.set("on_unavailable", on_unavailable);
  planned.backends[0].probe->ready = false;
  planned.backends[0].probe->reason = "bwrap is missing";
  return planned;
}

TEST(NodePlan, IsAPlainProcessAndSaysSo) {
  const auto plan = on_node().plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tier, "node");
  EXPECT_EQ(plan->backend, "local");
  EXPECT_EQ(plan->backend_library, "");
  EXPECT_THAT(plan->view.entries, IsEmpty());
  EXPECT_EQ(plan->network.mode, "full");
  EXPECT_THAT(plan->isolation, ElementsAre("none"));
  EXPECT_TRUE(plan->confinement.none);
  EXPECT_EQ(plan->confinement.seccomp_profile, "");
  EXPECT_FALSE(plan->confinement.landlock);
  EXPECT_THAT(plan->confinement.rlimits, IsEmpty());
  EXPECT_TRUE(plan->persistent);
  ASSERT_EQ(plan->candidates.size(), 1U);
  EXPECT_EQ(plan->candidates[0].backend, "local");
  EXPECT_FALSE(plan->degraded);
}

TEST(NodePlan, SaysHowStronglyATreeIsKilled) {
  const auto plan = on_node().plan();
  const auto found = std::find_if(plan->settings.begin(), plan->settings.end(),
                                  [](const SettingReport& report) { return report.name == "tree_kill"; });
  ASSERT_NE(found, plan->settings.end());
  EXPECT_EQ(found->grade, "emulated");
  EXPECT_EQ(found->enforced_by, "child subreaper");
}

TEST(NodePlan, TheEnvironmentIsTheHostsByTheAllowList) {
  const auto plan = on_node().plan();
  EXPECT_EQ(plan->environment.at("HOME"), "/home/u");
  EXPECT_EQ(plan->environment.at("TMPDIR"), "/scratch");
  EXPECT_EQ(plan->environment.at("PATH"), "bin:/usr/bin:");
  EXPECT_EQ(plan->environment.at("PWD"), "/home/u/ws");
  EXPECT_FALSE(plan->environment.contains("API_TOKEN"));
  EXPECT_THAT(plan->removed_environment, Contains("API_TOKEN"));
}

TEST(NodePlan, StartsInAnyFolderThatExists) {
  Planned planned = on_node();
  planned.machine.facts.workspace = "/home/u";
  ASSERT_TRUE(planned.plan()) << planned.plan().error().message;
  EXPECT_EQ(planned.plan()->cwd, "/home/u");
  planned.request.cwd = "/tmp";
  EXPECT_EQ(planned.plan()->cwd, "/tmp");
  planned.request.cwd = "/no/such";
  EXPECT_EQ(planned.plan().error().kind, FailureKind::invalid_request);
  planned.request.cwd.reset();
  planned.machine.facts.workspace = "/no/such";
  EXPECT_EQ(planned.plan().error().kind, FailureKind::invalid_request);
}

TEST(NodePlan, WhatSomebodyAskedForAndNobodyEnforcesIsRefused) {
  const std::pair<const char*, nlohmann::json> wanted[] = {{"network.mode", "none"},
                                                           {"filesystem.deny_read", {"/etc"}},
                                                           {"filesystem.workspace_access", "ro"},
                                                           {"resources.memory", 1000000},
                                                           {"resources.pids", 10},
                                                           {"resources.tmp_size", 1000000},
                                                           {"resources.home_size", 1000000},
                                                           {"image", "debian"}};
  for (const auto& [name, value] : wanted) {
    Planned planned = on_node();
    planned.settings.set(name, value);
    const auto refused = planned.plan();
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().kind, FailureKind::unsupported) << name;
    EXPECT_EQ(refused.error().backend, "local");
    planned.settings.set("best_effort", {"*"});
    const auto accepted = planned.plan();
    ASSERT_TRUE(accepted) << name << ": " << accepted.error().message;
    EXPECT_THAT(accepted->warnings, Contains(HasSubstr("best_effort"))) << name;
    const auto told = std::find_if(accepted->settings.begin(), accepted->settings.end(),
                                   [&](const SettingReport& report) { return report.name == name; });
    ASSERT_NE(told, accepted->settings.end()) << name;
    EXPECT_NE(told->effective, told->requested) << name;
  }
}

TEST(NodePlan, NothingElseStandsInForIt) {
  Planned planned = on_node();
  planned.backends[1].probe->ready = false;
  planned.settings.set("on_unavailable", "open").set("fallback", {"bwrap"});
  const auto plan = planned.plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().backend, "local");
}

TEST(NodePlan, OnlyTheKeepersOwnBackendIsExcusedFromIsolating) {
  Planned planned;
  planned.backends[0].statement.boundary = "none";
  planned.backends[0].statement.capabilities.erase("files");
  EXPECT_EQ(planned.plan().error().kind, FailureKind::unsupported);
}

// ---- fallback -----------------------------------------------------------------------------------

TEST(NodeFallback, IsNotTakenWhenItMayNot) {
  for (const char* mode : {"closed", "ask"}) {
    const auto plan = without_bwrap(mode).plan();
    ASSERT_FALSE(plan) << mode;
    EXPECT_EQ(plan.error().kind, FailureKind::unavailable) << mode;
    EXPECT_EQ(plan.error().backend, "bwrap") << mode;
  }
}

TEST(NodeFallback, AskPlansItWithWhatIsLostWhenThereIsSomebodyToAsk) {
  Planned planned = without_bwrap("ask");
  planned.can_ask = true;
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tier, "node");
  EXPECT_TRUE(plan->confinement.none);
  EXPECT_THAT(plan->view.entries, IsEmpty());
  EXPECT_EQ(plan->environment.at("HOME"), "/home/u");
  ASSERT_TRUE(plan->degraded);
  EXPECT_EQ(plan->degraded->wanted, "bwrap");
  EXPECT_THAT(plan->degraded->reason.message, HasSubstr("bwrap is missing"));
  EXPECT_EQ(plan->degraded->lost.size(), 5U);
  EXPECT_THAT(plan->degraded->lost, Contains(HasSubstr("files:")));
  EXPECT_THAT(plan->degraded->lost, Contains(HasSubstr("network:")));
}

TEST(NodeFallback, OpenTakesItWithAWarning) {
  const auto plan = without_bwrap("open").plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tier, "node");
  EXPECT_FALSE(plan->degraded);
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("instead")));
}

TEST(NodeFallback, IsSkippedWhereItCanNotCarryTheRequest) {
  Planned planned = without_bwrap("ask");
  planned.can_ask = true;
  planned.settings.set("image", "debian");
  const auto plan = planned.plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().backend, "bwrap");
  EXPECT_THAT(plan.error().hint, HasSubstr("local"));
}

TEST(NodeFallback, AnotherSandboxLosesOnlyWhatItLacks) {
  Planned planned = without_bwrap("ask");
  planned.can_ask = true;
  planned.backends.push_back(bwrap());
  planned.backends.back().id = "second";
  grant(planned.backends.back(), "syscalls", Grade::unsupported);
  planned.settings.set("fallback", {"second", "local"});
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tier, "sandbox");
  EXPECT_EQ(plan->backend, "second");
  EXPECT_THAT(plan->view.entries, Not(IsEmpty()));
  ASSERT_TRUE(plan->degraded);
  EXPECT_THAT(plan->degraded->lost, ElementsAre(HasSubstr("system calls")));
}

TEST(NodeFallback, NothingIsAskedAboutTheChosenBackend) {
  Planned planned = without_bwrap("ask");
  planned.can_ask = true;
  planned.backends[0].probe->ready = true;
  const auto plan = planned.plan();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->backend, "bwrap");
  EXPECT_FALSE(plan->degraded);
}

// ---- the command as a line ----------------------------------------------------------------------

TEST(ShellLine, IsExactAndSafeOnATerminal) {
  const std::pair<std::vector<std::string>, const char*> lines[] = {
      {{"make", "test"}, "make test"},
      {{"echo", "a b", ""}, "echo 'a b' ''"},
      {{"echo", "it's"}, R"(echo 'it'\''s')"},
      {{"echo", "$HOME;`x`"}, "echo '$HOME;`x`'"},
      {{"echo", "gr\xC3\xBC\xC3\x9F"}, "echo 'gr\xC3\xBC\xC3\x9F'"},
      {{"echo", "a\nb\tc"}, R"(echo $'a\nb\tc')"},
      {{"echo", "\x1b[2K'\\"}, R"(echo $'\x1b[2K\'\\')"},
      // NOLINTNEXTLINE(misc-misleading-bidirectional): it has to mislead
      {{"echo", "\xE2\x80\xAEx"}, R"(echo $'\xe2\x80\xaex')"},
      {{"echo", "\xff"}, R"(echo $'\xff')"},
  };
  for (const auto& [argv, line] : lines) EXPECT_EQ(shell_line(argv), line);
}

TEST(ScriptWords, OneThatIsTooLongForAWordComesInSeveral) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(script_words("/bin/sh", ""), (Words{"/bin/sh", "-c", ""}));
  EXPECT_EQ(script_words("/bin/sh", "echo \"$1\""), (Words{"/bin/sh", "-c", "echo \"$1\""}));
  std::string script = "#";
  for (int i = 0; i < 700'000; ++i) script += "\xC3\x9C";
  const Words words = script_words("/bin/sh", script);
  ASSERT_EQ(words.size(), 16U);
  EXPECT_EQ(words[2], "eval \"set --; ${1}${2}${3}${4}${5}${6}${7}${8}${9}${10}${11}${12}\"");
  EXPECT_EQ(words[3], "/bin/sh");
  std::string together;
  for (std::size_t i = 4; i < words.size(); ++i) {
    EXPECT_LT(words[i].size(), 131'072U);
    EXPECT_NE(words[i].front(), '\x9C') << "cut inside a character";
    together += words[i];
  }
  EXPECT_TRUE(together == script);
  EXPECT_EQ(script_parts(std::string(300'000, '\x80')).size(), 3U) << "what is no text has no characters to keep whole";
}

}  // namespace
}  // namespace exechost::plan::testing

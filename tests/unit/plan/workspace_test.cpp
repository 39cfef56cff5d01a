#include "core/plan/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

using ::testing::HasSubstr;

struct Refused {
  const char* name;
  const char* workspace;
  const char* says;
  bool can_be_allowed;
};
class RefusedWorkspace : public ::testing::TestWithParam<Refused> {
 protected:
  Planned make() const {
    Planned planned;
    planned.machine.folder("/home/other/x")
        .folder("/srv/data")
        .folder("/proc/1")
        .folder("/sys/kernel")
        .folder("/dev/pts");
    for (const char* system : {"/usr/local/bin", "/usr/src/x", "/etc/ssh", "/etc/cron.d", "/boot/efi", "/lib64/x",
                               "/run/systemd", "/var/lib/dpkg/info", "/var/lib/postgresql", "/var/spool/cron/crontabs",
                               "/var/cache/apt", "/var/log/journal"})
      planned.machine.folder(system);
    planned.machine.link("/sbin", "usr/sbin").folder("/usr/sbin").link("/home/u/cron", "/etc/cron.d");
    planned.machine.folder("/data/homes/u2")
        .folder("/home/u/.config/exechost/plugins")
        .folder("/home/u/.local/state/exechost/log");
    planned.machine.file("/home/u/file")
        .folder("/srv/app/prefix/bin")
        .link("/home/u/tohome", "/home/u")
        .link("/rootlink", "/");
    planned.machine.facts.own_paths = {"/home/u/.config/exechost", "/srv/app/prefix/bin"};
    planned.machine.facts.own_private_paths = {"/home/u/.local/state/exechost"};
    planned.machine.facts.environment_home = "/data/homes/u2";
    planned.machine.facts.workspace = GetParam().workspace;
    return planned;
  }
};

TEST_P(RefusedWorkspace, NamesFolderAndRule) {
  const auto plan = make().plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, FailureKind::invalid_request);
  EXPECT_EQ(plan.error().phase, Phase::plan);
  EXPECT_THAT(plan.error().message, HasSubstr(GetParam().says));
  EXPECT_FALSE(plan.error().hint.empty());
}

TEST_P(RefusedWorkspace, IsAllowedOnlyByItsExactName) {
  Planned planned = make();
  planned.settings.set("dangerously_allow_workspace",
                       {"/somewhere/else", std::string(GetParam().workspace) + "/below"});
  EXPECT_FALSE(planned.plan());
  planned.settings.set("dangerously_allow_workspace", nlohmann::json::array({GetParam().workspace}));
  const auto plan = planned.plan();
  EXPECT_EQ(plan.has_value(), GetParam().can_be_allowed) << (plan ? "" : plan.error().message);
  if (plan) {
    EXPECT_THAT(plan->warnings, ::testing::Contains(HasSubstr("dangerously_allow_workspace")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedWorkspace,
    ::testing::Values(
        Refused{"Root", "/", "whole system", true}, Refused{"RootThroughALink", "/rootlink", "whole system", true},
        Refused{"TopLevel", "/opt", "top-level", true}, Refused{"Tmp", "/tmp", "top-level", true},
        Refused{"TheHome", "/home/u", "home folder", true},
        Refused{"HomeThroughALink", "/home/u/tohome", "home folder", true},
        Refused{"AllHomes", "/home", "home folder", true}, Refused{"AnotherHome", "/home/other", "home folder", true},
        Refused{"RootsHome", "/root", "home folder", true},
        Refused{"TheEnvironmentsHome", "/data/homes/u2", "home folder", true},
        Refused{"AboveTheEnvironmentsHome", "/data/homes", "contains the home folder", true},
        Refused{"AboveOwnPrograms", "/srv/app", "ExecHost's own", true},
        Refused{"AboveOwnProgramsDirectly", "/srv/app/prefix", "ExecHost's own", true},
        Refused{"AboveOwnSettings", "/home/u/.config", "ExecHost's own", true},
        Refused{"AboveOwnState", "/home/u/.local/state", "ExecHost's own", true},
        Refused{"OwnSettings", "/home/u/.config/exechost", "ExecHost's own", false},
        Refused{"BelowOwnSettings", "/home/u/.config/exechost/plugins", "ExecHost's own", false},
        Refused{"BelowOwnState", "/home/u/.local/state/exechost/log", "ExecHost's own", false},
        Refused{"Bin", "/bin", "of the system", true}, Refused{"Sbin", "/sbin", "of the system", true},
        Refused{"Lib", "/lib", "of the system", true}, Refused{"BelowLib64", "/lib64/x", "of the system", true},
        Refused{"UsrLocalBin", "/usr/local/bin", "of the system", true},
        Refused{"UsrSrc", "/usr/src/x", "of the system", true}, Refused{"EtcSsh", "/etc/ssh", "of the system", true},
        Refused{"EtcCron", "/etc/cron.d", "of the system", true},
        Refused{"EtcThroughALink", "/home/u/cron", "of the system", true},
        Refused{"Boot", "/boot/efi", "of the system", true}, Refused{"Run", "/run/systemd", "of the system", true},
        Refused{"VarLib", "/var/lib", "of the system", true},
        Refused{"AService", "/var/lib/postgresql", "of the system", true},
        Refused{"Packages", "/var/lib/dpkg/info", "of the system", true},
        Refused{"VarSpool", "/var/spool", "of the system", true},
        Refused{"Crontabs", "/var/spool/cron/crontabs", "of the system", true},
        Refused{"VarCache", "/var/cache/apt", "of the system", true},
        Refused{"VarLog", "/var/log/journal", "of the system", true}, Refused{"Proc", "/proc/1", "/proc", false},
        Refused{"Sys", "/sys/kernel", "/sys", false}, Refused{"Dev", "/dev/pts", "/dev", false},
        Refused{"Missing", "/srv/none", "does not exist", false},
        Refused{"AFile", "/home/u/file", "not a folder", false}),
    [](const auto& test) { return test.param.name; });

TEST(Workspace, OrdinaryFoldersAreAccepted) {
  for (const char* path : {"/home/u/ws", "/srv/project", "/tmp/build", "/var/tmp/x", "/dev/shm/x", "/run/user/1000/x",
                           "/root/project", "/opt/x", "/var/www", "/usr2/x", "/var/lib/jenkins/job"}) {
    Planned planned;
    planned.machine.folder(path);
    planned.machine.facts.workspace = path;
    const auto plan = planned.plan();
    ASSERT_TRUE(plan) << path << ": " << plan.error().message;
    EXPECT_EQ(plan->workspace, path);
    ASSERT_NE(plan->view.deciding(path), nullptr);
    EXPECT_EQ(plan->view.deciding(std::string(path) + "/new")->access, Access::rw) << path;
    EXPECT_EQ(plan->cwd, path);
  }
}

TEST(Workspace, HomesOfOtherAccountsAreNone) {
  for (const char* path : {"/data/homes/anna", "/data/homes"}) {
    Planned planned;
    planned.machine.folder("/data/homes/anna/x");
    planned.machine.facts.other_homes = {"/data/homes/anna"};
    planned.machine.facts.workspace = path;
    const auto plan = planned.plan();
    ASSERT_FALSE(plan) << path;
    EXPECT_THAT(plan.error().message, HasSubstr("home folder"));
  }
}

TEST(Workspace, LinksAreResolved) {
  Planned planned;
  planned.machine.folder("/srv/project").link("/home/u/link", "/srv/project");
  planned.machine.facts.workspace = "/home/u/link";
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->workspace, "/srv/project");
  EXPECT_EQ(plan->view.deciding("/srv/project")->access, Access::rw);
}

TEST(Workspace, TheProjectsOwnSettingsFileIsNoReasonToRefuse) {
  Planned planned;
  planned.machine.file("/home/u/ws/.exechost.json");
  planned.machine.facts.own_paths = {"/home/u/ws/.exechost.json"};
  const auto plan = planned.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->view.deciding("/home/u/ws/.exechost.json")->access, Access::ro);
  EXPECT_EQ(plan->view.deciding("/home/u/ws/other")->access, Access::rw);
}

struct Start {
  const char* name;
  const char* cwd;
  const char* result;  // null: refused
};
class StartFolder : public ::testing::TestWithParam<Start> {};

TEST_P(StartFolder, IsVisibleOrRefusedAndMakesNothingWritable) {
  Planned planned;
  planned.machine.folder("/home/u/ws/sub").folder("/home/u/other").folder("/srv/visible").file("/srv/file");
  planned.machine.link("/home/u/ws/out", "/srv/visible").folder("/home/other/x");
  const auto without = planned.plan();
  ASSERT_TRUE(without);
  planned.request.cwd = GetParam().cwd;
  const auto plan = planned.plan();
  if (GetParam().result == nullptr) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, FailureKind::invalid_request);
    EXPECT_THAT(plan.error().message, HasSubstr("cwd"));
  } else {
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->cwd, GetParam().result);
    EXPECT_EQ(plan->environment.at("PWD"), GetParam().result);
    EXPECT_EQ(plan->view.entries, without->view.entries);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, StartFolder,
    ::testing::Values(Start{"Workspace", ".", "/home/u/ws"}, Start{"Relative", "sub", "/home/u/ws/sub"},
                      Start{"Dots", "sub/../sub/.", "/home/u/ws/sub"}, Start{"System", "/srv/visible", "/srv/visible"},
                      Start{"Root", "/", "/"}, Start{"ThroughALink", "out", "/srv/visible"},
                      Start{"Tmp", "/tmp", "/tmp"}, Start{"PrivateHome", "/home/u", "/home/u"},
                      Start{"Home", "~", "/home/u"}, Start{"AllHomes", "/home", nullptr},
                      Start{"AnotherHome", "/home/other", nullptr}, Start{"InTheHostsHome", "/home/u/other", nullptr},
                      Start{"Missing", "none", nullptr}, Start{"AFile", "/srv/file", nullptr},
                      Start{"MissingInTmp", "/tmp/none", nullptr}, Start{"NotUtf8", "/srv/\xff", nullptr}),
    [](const auto& test) { return test.param.name; });

TEST(StartFolderSetting, IsUsedUnlessTheRequestHasItsOwn) {
  Planned planned;
  planned.machine.folder("/home/u/ws/a").folder("/home/u/ws/b");
  planned.settings.set("cwd", "a");
  ASSERT_TRUE(planned.plan());
  EXPECT_EQ(planned.plan()->cwd, "/home/u/ws/a");
  planned.request.cwd = "b";
  ASSERT_TRUE(planned.plan());
  EXPECT_EQ(planned.plan()->cwd, "/home/u/ws/b");
}

}  // namespace
}  // namespace exechost::plan::testing

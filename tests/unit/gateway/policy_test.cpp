// From plans to what the gateway may touch, on a machine that exists only in memory.
#include "core/gateway/policy.hpp"

#include "core/gateway/access.hpp"
#include "core/gateway/protected_names.hpp"
#include "tests/unit/gateway/scene.hpp"
#include "tests/unit/plan/support.hpp"

namespace exechost::gateway {
namespace {

using ::testing::ElementsAre;

struct Planned : plan::testing::Planned {
  Policy policy() {
    const settings::Settings built = settings.build();
    const plan::Facts facts = machine.look(built);
    const auto made = plan::make_plan({request, built, backends, facts});
    if (!made) {
      ADD_FAILURE() << describe(made.error());
      return {};
    }
    return make_policy(*made, built, facts);
  }
};

TEST(GatewayPolicy, TheWorkspaceIsWritableAndNothingElseIsARoot) {
  Planned planned;
  const Policy policy = planned.policy();
  EXPECT_EQ(policy.workspace, "/home/u/ws");
  EXPECT_THAT(policy.roots, ElementsAre(Root{"/home/u/ws", "/home/u/ws"}));
  const AccessRules rules(policy);
  EXPECT_EQ(rules.decide("/home/u/ws/src/f"), Access::writable);
  EXPECT_EQ(rules.decide("/home/u/other"), Access::hidden);
  EXPECT_EQ(rules.decide("/tmp/x"), Access::hidden);  // private in an environment: the host's is not it
  EXPECT_EQ(rules.why_not_writable("/home/u/ws/src/f"), "");
  EXPECT_NE(rules.why_not_writable("/home/u/ws"), "");
  EXPECT_NE(rules.why_not_writable("/home/u/wsx/f"), "");
  EXPECT_NE(rules.why_not_writable("/home/u/ws/.git/config"), "");
}

TEST(GatewayPolicy, AllowReadAddsRootsByBothNames) {
  Planned planned;
  planned.machine.folder("/srv").folder("/srv/data").link("/srv/link", "/srv/data").file("/srv/file");
  planned.settings.set("filesystem.allow_read", {"/srv/link", "/srv/file", "/srv/missing", "/proc"});
  const Policy policy = planned.policy();
  EXPECT_THAT(policy.roots, ElementsAre(Root{"/home/u/ws", "/home/u/ws"}, Root{"/srv/data", "/srv/data"},
                                        Root{"/srv/link", "/srv/data"}, Root{"/srv/file", "/srv/file"}));
  const AccessRules rules(policy);
  EXPECT_EQ(rules.decide("/srv/data/x"), Access::readable);
  EXPECT_NE(rules.why_not_writable("/srv/data/x"), "");
}

TEST(GatewayPolicy, AllowReadOverALinkInTheWorkspaceGivesNothingOutside) {
  Planned planned;
  planned.machine.folder("/srv").folder("/srv/data").link("/home/u/ws/link", "/srv/data");
  planned.machine.folder("/home/u/ws/real").link("/home/u/ws/inner", "/home/u/ws/real");
  planned.settings.set("filesystem.allow_read", {"link", "inner"});
  EXPECT_THAT(planned.policy().roots,
              ElementsAre(Root{"/home/u/ws", "/home/u/ws"}, Root{"/home/u/ws/real", "/home/u/ws/real"},
                          Root{"/home/u/ws/inner", "/home/u/ws/real"}));
}

TEST(GatewayPolicy, WhatIsWritableElsewhereIsNotWrittenHere) {
  Planned planned;
  planned.machine.folder("/srv").folder("/srv/out");
  planned.settings.set("filesystem.allow_write", {"/srv/out"});
  const Policy policy = planned.policy();
  EXPECT_EQ(policy.roots.size(), 1U);
  EXPECT_EQ(AccessRules(policy).decide("/srv/out/x"), Access::readable);
}

TEST(GatewayPolicy, DenialsInTheWorkspaceHold) {
  Planned planned;
  planned.machine.folder("/home/u/ws/secrets")
      .file("/home/u/ws/secrets/open")
      .file("/home/u/ws/.env")
      .folder("/home/u/ws/ro");
  planned.settings.set("filesystem.deny_read", {"secrets", ".env"});
  planned.settings.set("filesystem.allow_read", {"secrets/open"});
  planned.settings.set("filesystem.deny_write", {"ro"});
  const Policy policy = planned.policy();
  const AccessRules rules(policy);
  EXPECT_EQ(rules.decide("/home/u/ws/secrets/key"), Access::hidden);
  EXPECT_EQ(rules.decide("/home/u/ws/secrets/open"), Access::readable);
  EXPECT_EQ(rules.decide("/home/u/ws/.env"), Access::hidden);
  EXPECT_EQ(rules.decide("/home/u/ws/ro/f"), Access::readable);
  EXPECT_NE(rules.why_not_writable("/home/u/ws/ro/f"), "");
  EXPECT_EQ(rules.decide("/home/u/ws/else"), Access::writable);
}

TEST(GatewayPolicy, AReadOnlyWorkspaceIsReadable) {
  Planned planned;
  planned.settings.set("filesystem.workspace_access", "ro");
  const Policy policy = planned.policy();
  EXPECT_EQ(AccessRules(policy).decide("/home/u/ws/f"), Access::readable);
  EXPECT_EQ(AccessRules(policy).why_not_writable("/home/u/ws/f"), "is read-only");
}

TEST(GatewayPolicy, OwnFilesAreHiddenButForTheProjectsSettings) {
  Planned planned;
  planned.machine.folder("/opt").folder("/opt/exechost").file("/opt/exechost/settings.json").folder("/var/state");
  planned.machine.file("/home/u/ws/.exechost.json");
  planned.machine.facts.own_paths = {"/opt/exechost", "/home/u/ws/.exechost.json"};
  planned.machine.facts.own_private_paths = {"/var/state"};
  planned.settings.set("filesystem.allow_read", {"/opt", "/opt/exechost/settings.json", "/var/state"});
  const Policy policy = planned.policy();
  const AccessRules rules(policy);
  EXPECT_EQ(rules.decide("/opt/other"), Access::readable);
  EXPECT_EQ(rules.decide("/opt/exechost"), Access::hidden);
  EXPECT_EQ(rules.decide("/opt/exechost/settings.json"), Access::hidden);
  EXPECT_EQ(rules.decide("/var/state/x"), Access::hidden);
  EXPECT_EQ(rules.decide("/home/u/ws/.exechost.json"), Access::readable);
  EXPECT_NE(rules.why_not_writable("/home/u/ws/.exechost.json"), "");
}

TEST(GatewayPolicy, ProtectedNamesAreWholeNames) {
  const ProtectedNames names = default_protected_names();
  for (const char* path : {".git", "a/.git/x", ".GiT/config", "a/.claude/commands/x", ".claude/commands"}) {
    EXPECT_TRUE(is_protected(path, names)) << path;
  }
  for (const char* path : {"", "git", ".gitignore", "a.git/x", ".claude", ".claude/commandsx", ".claude/other/commands",
                           "x.bashrc", ".bashrc2"}) {
    EXPECT_FALSE(is_protected(path, names)) << path;
  }
}

}  // namespace
}  // namespace exechost::gateway

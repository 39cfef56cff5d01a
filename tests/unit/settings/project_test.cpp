// What a repository's own file may do: narrow, and nothing else. Every setting is in the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/settings/project_rule.hpp"
#include "core/settings/schema_tree.hpp"
#include "support.hpp"

namespace exechost::settings::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Row {
  const char* name;
  json user;                    // null: the default holds
  std::vector<json> narrower;   // what a project may say
  std::vector<json> forbidden;  // what it may not
};

const Row kRows[] = {
    {"tier", nullptr, {}, {"sandbox", "node"}},
    {"backend", nullptr, {}, {"bwrap", "local"}},
    {"fallback", {"docker", "local"}, {json::array(), {"local"}, {"local", "docker"}}, {{"ssh"}, {"local", "ssh"}}},
    {"on_unavailable", nullptr, {"closed", "ask"}, {"open"}},
    {"fail_if_unavailable", nullptr, {}, {true, false}},
    {"enabled_platforms", nullptr, {json::array(), {"linux"}}, {{"macos"}}},
    {"profile", nullptr, {}, {"run", "install"}},
    {"image", nullptr, {}, {"", "debian"}},
    {"cwd", nullptr, {}, {"sub"}},
    {"best_effort", {"*"}, {}, {{"*"}, json::array()}},
    {"strict", true, {}, {true, false}},
    {"workspace.path", nullptr, {}, {"/"}},
    {"workspace.mode", nullptr, {}, {"direct", "copy"}},
    {"dangerously_allow_workspace", {"/srv"}, {json::array(), {"/srv"}}, {{"/"}}},
    {"filesystem.home", nullptr, {"hidden", "toolchains"}, {"read"}},
    {"filesystem.workspace_access", nullptr, {"ro", "rw"}, {}},
    {"filesystem.workspace_access", "ro", {"ro"}, {"rw"}},
    {"filesystem.allow_write", {"/a", "/b"}, {json::array(), {"/a"}}, {{"/c"}, {"/a", "/b", "/c"}}},
    {"filesystem.deny_write", {"/a"}, {{"/b"}, json::array()}, {}},
    {"filesystem.allow_read", {"/a"}, {{"/a"}}, {{"/c"}}},
    {"filesystem.deny_read", {"/a"}, {{"/b"}}, {}},
    {"network.mode", nullptr, {"none"}, {"filtered", "full"}},
    {"network.mode", "full", {"none", "filtered", "full"}, {}},
    {"network.allowed_domains", {"a.org"}, {{"a.org"}, json::array()}, {{"b.org"}}},
    {"network.denied_domains", nullptr, {{"b.org"}}, {}},
    {"environment.inherit", nullptr, {"none", "core"}, {"all"}},
    {"environment.include", {"CI"}, {{"CI"}}, {{"*"}}},
    {"environment.exclude", nullptr, {{"X*"}, json::array()}, {}},
    {"environment.include_only", {"A"}, {}, {json::array(), {"A"}}},
    {"environment.set.LD_PRELOAD", nullptr, {}, {"x"}},
    {"environment.dangerously_keep_secrets", nullptr, {false}, {true}},
    {"environment.dangerously_keep_secrets", true, {false}, {true}},
    {"resources.cpu", nullptr, {1, nullptr}, {}},
    {"resources.cpu", 2, {1, 2}, {3, nullptr}},
    {"resources.memory", "1g", {"512m", "1024m"}, {"2g", "none"}},
    {"resources.disk", "1g", {"1g"}, {"2g"}},
    {"resources.pids", nullptr, {1, 512}, {513}},
    {"resources.timeout", nullptr, {"5s", "100d"}, {}},
    {"resources.timeout", "10s", {"5s"}, {"11s", nullptr}},
    {"resources.kill_grace", nullptr, {"1s"}, {"3s"}},
    {"resources.tmp_size", nullptr, {"1m"}, {"2g"}},
    {"resources.home_size", nullptr, {"1m"}, {"2g"}},
    {"resources.output_cap", nullptr, {"1k"}, {"2m"}},
    {"resources.output_spill", true, {false}, {true}},
    {"session.name", nullptr, {}, {"x"}},
    {"session.persistent", nullptr, {false}, {true}},
    {"session.busy", nullptr, {}, {"queue", "refuse"}},
    {"session.idle_timeout", nullptr, {"10s"}, {"1h"}},
    {"session.max_lifetime", nullptr, {"1h"}, {"2d"}},
    {"admission.node.security", nullptr, {"deny", "allowlist"}, {"full"}},
    {"admission.node.security", "deny", {"deny"}, {"allowlist", "full"}},
    {"admission.node.ask", nullptr, {"on_miss", "always"}, {"off"}},
    {"admission.node.ask", "always", {"always"}, {"off", "on_miss"}},
    {"admission.node.allow",
     {{"make", "test"}, {"ls"}},
     {json::array(), json::array({json::array({"ls"})})},
     {json::array({json::array({"make"})}), json::array({json::array({"make", "test", "all"})})}},
    {"plugins.directories", {"/p"}, {}, {{"/p"}, json::array()}},
    {"plugins.pinned.docker", nullptr, {}, {std::string(64, 'a')}},
    {"profiles.run.network.mode", nullptr, {}, {"none"}},
    {"backends.docker", nullptr, {}, {json::object()}},
};

class ProjectFile : public testing::TestWithParam<Row> {};

TEST_P(ProjectFile, NarrowsAndNothingElse) {
  const auto& [name, user, narrower, forbidden] = GetParam();
  const json mine = user.is_null() ? json() : at(name, user);
  for (const json& value : narrower) {
    const auto result = resolve({.user = mine, .project = at(name, value)});
    EXPECT_TRUE(result) << value << ": " << (result ? "" : result.error().message);
    if (result) {
      EXPECT_EQ(result->origin(name).scope, Scope::project) << value;
    }
  }
  for (const json& value : forbidden) {
    const std::string message = failure_of({.user = mine, .project = at(name, value)});
    EXPECT_THAT(message, HasSubstr("project.json: " + std::string(name))) << value;
    EXPECT_THAT(message, HasSubstr("a project's file may")) << value;
  }
}
INSTANTIATE_TEST_SUITE_P(Settings, ProjectFile, testing::ValuesIn(kRows));

TEST(ProjectFile, EverySettingIsInTheTable) {
  std::set<std::string> covered;
  for (const Row& row : kRows) covered.insert(row.name);
  const auto tree = SchemaTree::make({});
  ASSERT_TRUE(tree);
  for (const auto& [path, node] : tree->leaves()) {
    // `managed` has its own test; free maps are there by one member.
    if (path[0] == "managed") continue;
    const std::string name = dotted(path);
    const auto member = covered.lower_bound(name);
    EXPECT_TRUE(member != covered.end() && member->starts_with(name)) << name;
  }
}

TEST(ProjectFile, PluginsSettingsAreForbiddenWhateverTheirSchemaSays) {
  PluginSettings open = plugin();
  open.schema["properties"]["debug"]["x-project"] = "off_only";
  EXPECT_THAT(failure_of({.project = at("backends.firecracker.debug", false), .plugins = {open}}),
              HasSubstr("may not set this"));
}

TEST(ProjectFile, ComparesWithTheSystemsAndTheUsersFile) {
  EXPECT_THAT(failure_of({.system = at("resources.pids", 100), .project = at("resources.pids", 101)}),
              HasSubstr("a project's file may only lower this, from 100"));
  // A stronger scope may widen again: that is the user speaking.
  EXPECT_EQ(resolved({.project = at("resources.pids", 10), .request = at("resources.pids", 600)}).at("resources.pids"),
            600);
}

TEST(ProjectRule, MaxAndSuperset) {
  const json schema{{"type", "integer"}};
  const JsonSchema compiled = *JsonSchema::compile(schema);
  const SchemaTree::Node node{&compiled, &compiled.document()};
  EXPECT_FALSE(project_refusal("max", node, 5, 6));
  EXPECT_FALSE(project_refusal("max", node, 5, 5));
  EXPECT_TRUE(project_refusal("max", node, 5, 4));
  EXPECT_FALSE(project_refusal("superset", node, {"a"}, {"b", "a"}));
  EXPECT_TRUE(project_refusal("superset", node, {"a"}, {"b"}));
  EXPECT_TRUE(project_refusal("no such rule", node, 1, 1));
}

}  // namespace
}  // namespace exechost::settings::test

// What a single document may say, and how it comes out.
#include <gtest/gtest.h>

#include "support.hpp"

namespace exechost::settings::test {
namespace {

using nlohmann::json;
using namespace std::string_literals;

TEST(Defaults, AreTheDocumentedOnes) {
  const Settings settings = resolved({});
  const std::pair<const char*, json> expected[] = {
      {"tier", "sandbox"},
      {"backend", "bwrap"},
      {"fallback", {"local"}},
      {"on_unavailable", "ask"},
      {"fail_if_unavailable", nullptr},
      {"enabled_platforms", {"linux"}},
      {"profile", "run"},
      {"image", ""},
      {"cwd", ""},
      {"best_effort", json::array()},
      {"strict", false},
      {"workspace.path", ""},
      {"workspace.mode", "direct"},
      {"dangerously_allow_workspace", json::array()},
      {"filesystem.home", "toolchains"},
      {"filesystem.workspace_access", "rw"},
      {"filesystem.allow_write", json::array()},
      {"filesystem.deny_write", json::array()},
      {"filesystem.allow_read", json::array()},
      {"filesystem.deny_read", json::array()},
      {"network.mode", "none"},
      {"network.allowed_domains", json::array()},
      {"network.denied_domains", json::array()},
      {"environment.inherit", "core"},
      {"environment.include", json::array()},
      {"environment.exclude",
       {"*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*", "*PASSWD*", "*CREDENTIAL*", "*AUTH", "*AUTH_*",
        "*AUTHENTICATION*", "*AUTHORIZATION*"}},
      {"environment.include_only", json::array()},
      {"environment.set", json::object()},
      {"environment.dangerously_keep_secrets", false},
      {"resources.cpu", nullptr},
      {"resources.memory", nullptr},
      {"resources.disk", nullptr},
      {"resources.pids", 512},
      {"resources.timeout", nullptr},
      {"resources.kill_grace", 2000},
      {"resources.tmp_size", 1024 * 1024 * 1024},
      {"resources.home_size", 1024 * 1024 * 1024},
      {"resources.output_cap", 1024 * 1024},
      {"resources.output_spill", false},
      {"files.max_entries", 200'000},
      {"files.max_bytes", 10LL * 1024 * 1024 * 1024},
      {"files.max_depth", 64},
      {"session.name", ""},
      {"session.persistent", true},
      {"session.idle_timeout", 300'000},
      {"session.max_lifetime", 86'400'000},
      {"admission.node.security", "allowlist"},
      {"admission.node.ask", "on_miss"},
      {"admission.node.allow", json::array()},
      {"plugins.directories", json::array()},
      {"plugins.pinned", json::object()},
      {"managed.forbidden_profiles", json::array()},
      {"backends", json::object()},
  };
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(settings.at(name), value) << name;
    EXPECT_FALSE(settings.requested(name)) << name;
    EXPECT_EQ(settings.origin(name).source, "built-in") << name;
  }
  EXPECT_TRUE(settings.origins().empty());
  EXPECT_TRUE(settings.warnings().empty());
  EXPECT_EQ(settings.values().size(), 25U - 1U);  // every property of the schema but $schema
}

TEST(Names, WithoutAValueAreNull) {
  const Settings settings = resolved({});
  for (const char* name : {"", "nothing", "resources.nothing", "tier.deeper", "resources..cpu", ".", "resources."}) {
    EXPECT_TRUE(settings.at(name).is_null()) << name;
  }
}

struct Value {
  const char* name;
  json given;
  json comes_out;
};

class GoodValue : public testing::TestWithParam<Value> {};

TEST_P(GoodValue, IsAcceptedAndNormalised) {
  const auto& [name, given, comes_out] = GetParam();
  const Settings settings = resolved({.user = at(name, given)});
  EXPECT_EQ(settings.at(name), comes_out);
  EXPECT_EQ(settings.origin(name).scope, Scope::user);
  EXPECT_EQ(settings.origin(name).source, "user.json");
}

const Value kGood[] = {
    {"tier", "node", "node"},
    {"backend", "docker", "docker"},
    {"backend", "podman", "docker"},
    {"backend", "bubblewrap", "bwrap"},
    {"backend", "apptainer", "singularity"},
    {"fallback", {"podman", "local"}, {"docker", "local"}},
    {"fallback", json::array(), json::array()},
    {"on_unavailable", "closed", "closed"},
    {"fail_if_unavailable", true, true},
    {"enabled_platforms", {"linux", "macos"}, {"linux", "macos"}},
    {"profile", "read_only", "read_only"},
    {"image", "debian:12", "debian:12"},
    {"cwd", "sub/folder", "sub/folder"},
    {"best_effort", {"*"}, {"*"}},
    {"best_effort", {"resources.memory", "network"}, {"resources.memory", "network"}},
    {"workspace.path", "/srv/w", "/srv/w"},
    {"workspace.mode", "copy", "copy"},
    {"dangerously_allow_workspace", {"/"}, {"/"}},
    {"filesystem.allow_write", {"/a", "~/b", "c/d", "~"}, {"/a", "~/b", "c/d", "~"}},
    {"filesystem.allow_read", {"/\xC3\xA4 b(1)#&'\""}, {"/\xC3\xA4 b(1)#&'\""}},
    {"network.allowed_domains",
     {"example.com", "*.example.com", "localhost", "1.2.3.4", "a.b:8443"},
     {"example.com", "*.example.com", "localhost", "1.2.3.4", "a.b:8443"}},
    {"environment.include", {"CI", "GITHUB_*", "A?"}, {"CI", "GITHUB_*", "A?"}},
    {"environment.set.A_1", "\xC3\xA4\n=x", "\xC3\xA4\n=x"},
    {"resources.cpu", 0.5, 0.5},
    {"resources.cpu", 2, 2.0},
    {"resources.cpu", "1.5", 1.5},
    {"resources.cpu", nullptr, nullptr},
    {"resources.memory", "512m", 512LL << 20},
    {"resources.memory", 512, 512LL << 20},
    {"resources.memory", 512.0, 512LL << 20},
    {"resources.memory", "none", nullptr},
    {"resources.disk", "2GiB", 2LL << 30},
    {"resources.pids", 1, 1},
    {"resources.timeout", "90s", 90'000},
    {"resources.timeout", 90, 90'000},
    {"resources.timeout", 0.5, 500},
    {"resources.timeout", "none", nullptr},
    {"resources.timeout", nullptr, nullptr},
    {"resources.kill_grace", "250ms", 250},
    {"resources.output_cap", "64k", 65536},
    {"session.name", "build-1.2_x", "build-1.2_x"},
    {"session.name", "", ""},
    {"plugins.directories", {"/opt/plugins"}, {"/opt/plugins"}},
};
INSTANTIATE_TEST_SUITE_P(Settings, GoodValue, testing::ValuesIn(kGood));

struct BadValue {
  const char* name;
  json given;
  const char* says;  // part of the message
};

class BadValueTest : public testing::TestWithParam<BadValue> {};

TEST_P(BadValueTest, IsAnErrorNamingSettingSourceAndRule) {
  const auto& [name, given, says] = GetParam();
  const std::string message = failure_of({.user = at(name, given)});
  EXPECT_TRUE(message.starts_with("user.json: ")) << message;
  EXPECT_NE(message.find(std::string(name).substr(0, std::string(name).find('.'))), std::string::npos) << message;
  EXPECT_NE(message.find(says), std::string::npos) << message;
  // The same in a request, an administrator's file and a profile.
  EXPECT_NE(failure_of({.request = at(name, given)}).find(says), std::string::npos);
  EXPECT_NE(failure_of({.managed = at(name, given)}).find(says), std::string::npos);
}

const BadValue kBad[] = {
    {"teir", "sandbox", "did you mean tier?"},
    {"resources.memroy", "1g", "did you mean memory?"},
    {"filesystem.allowwrite", json::array(), "did you mean allow_write?"},
    {"wholly_unknown", 1, "known here: admission, backend"},
    {"tier", "vm", "must be one of sandbox, gateway, node"},
    {"tier", 1, "must be of type string"},
    {"tier", nullptr, "must be of type string"},
    {"backend", "dokcer", "did you mean docker?"},
    {"backend", "", "known are bwrap, docker, ssh, singularity, modal, daytona, local"},
    {"backend", "Docker", "no such backend"},
    {"fallback", "local", "must be of type array"},
    {"fallback", {"local", "local"}, "twice"},
    {"fallback", {"nowhere"}, "no such backend"},
    {"on_unavailable", "warn", "must be one of closed, ask, open"},
    {"fail_if_unavailable", "true", "must be of type boolean"},
    {"enabled_platforms", {"beos"}, "must be one of"},
    {"profile", "No Such", "lower-case"},
    {"image", "a b", "blanks"},
    {"best_effort", {"resources.memroy"}, "did you mean resources.memory?"},
    {"best_effort", {"resources."}, "must name a setting"},
    {"strict", "yes", "must be of type boolean"},
    {"workspace.path", "relative", "must be an absolute path"},
    {"dangerously_allow_workspace", {"~/x"}, "must be an absolute path"},
    {"filesystem.allow_write", {"/a/*"}, "patterns (*, ?, [) are not understood"},
    {"filesystem.deny_read", {"**/.env"}, "patterns"},
    {"filesystem.deny_read", {""}, "at least 1 character"},
    {"filesystem.deny_write", {"~root/x"}, "only the own home"},
    {"filesystem.allow_read", {"a\0b"s}, "zero byte"},
    {"filesystem.allow_read", {"a\xFF"}, "UTF-8"},
    {"network.allowed_domains", {"https://example.com"}, "without a scheme"},
    {"network.allowed_domains", {"*"}, "a domain is"},
    {"network.denied_domains", {"a..b"}, "a domain is"},
    {"network.denied_domains", {"example.com\n"}, "a domain is"},
    {"environment.include", {"A B"}, "a pattern of variable names"},
    {"environment.set", {{"1A", "x"}}, "begins with no digit"},
    {"environment.set", {{"A=B", "x"}}, "letters, digits and _"},
    {"environment.set", {{"", "x"}}, "letters, digits and _"},
    {"environment.set", {{"A", 1}}, "(secret): must be of type string"},
    {"environment.set", {{"A", "hunter2\0"s}}, "zero byte"},
    {"resources.cpu", 0, "a number of cores is"},
    {"resources.cpu", -1, "a number of cores is"},
    {"resources.cpu", "nan", "a number of cores is"},
    {"resources.memory", 0, "a size is"},
    {"resources.memory", -5, "a size is"},
    {"resources.memory", 1e30, "a size is"},
    {"resources.memory", "12q", "a size is"},
    {"resources.memory", "", "a size is"},
    {"resources.memory", 1.5, "must be of type string or integer or null"},
    {"resources.tmp_size", "none", "a size is"},
    {"resources.tmp_size", nullptr, "must be of type"},
    {"resources.pids", 0, "must be at least 1"},
    {"resources.pids", 4194305, "must be at most 4194304"},
    {"resources.pids", "12", "must be of type integer"},
    {"resources.timeout", 0, "a duration is"},
    {"resources.timeout", "-5s", "a duration is"},
    {"resources.timeout", 1e300, "a duration is"},
    {"resources.kill_grace", "none", "a duration is"},
    {"session.name", "a/b", "a session name is"},
    {"session.name", "../x", "a session name is"},
    {"session.name", "a\n", "a session name is"},
    {"plugins.pinned", {{"docker", "abc"}}, "SHA-256"},
    {"plugins.directories", {"plugins"}, "must be an absolute path"},
    {"backends", {{"Docker", json::object()}}, "a backend id is"},
    {"backends", {{"docker", 1}}, "must be of type object"},
};
INSTANTIATE_TEST_SUITE_P(Settings, BadValueTest, testing::ValuesIn(kBad));

TEST(Documents, MustBeObjects) {
  for (const json& document : {json::array(), json("x"), json(1)}) {
    EXPECT_NE(failure_of({.user = document}).find("must be of type object"), std::string::npos);
    EXPECT_NE(failure_of({.request = document}).find("must be of type object"), std::string::npos);
  }
}

TEST(Documents, MayNameTheirSchema) {
  EXPECT_TRUE(resolved({.user = {{"$schema", "settings.schema.json"}, {"strict", true}}}).values()["strict"]);
}

TEST(Documents, SecretsNeverReachAMessage) {
  const json secrets[] = {at("environment.set", {{"A", {"hunter2"}}}), at("environment.set", {{"A", "hunter2\0"s}}),
                          at("environment.set", {{"A", "hunter2\xFF"}})};
  for (const json& document : secrets) {
    const std::string message = failure_of({.user = document});
    EXPECT_NE(message, "");
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
  }
}

TEST(Documents, HostileTextInMessagesIsEscaped) {
  const std::string message = failure_of({.user = {{"\x1B[2Jtier", 1}}});
  EXPECT_EQ(message.find('\x1B'), std::string::npos);
  EXPECT_NE(message.find("\\u{1b}"), std::string::npos) << message;
}

}  // namespace
}  // namespace exechost::settings::test

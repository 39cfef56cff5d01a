// TERMINAL_* variables: a row for each, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/settings/schema_tree.hpp"
#include "support.hpp"

namespace exechost::settings::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Row {
  const char* backend;  // chosen by TERMINAL_ENV; "" leaves it
  const char* variable;
  const char* setting;
  std::vector<std::pair<const char*, json>> good;
  std::vector<const char*> bad;  // besides the empty text, which is bad for all
};

const std::vector<const char*> kBadDurations{"0",  "-1",    "nan", "inf", "5x", " 5",
                                             "5 ", "1_000", "+5",  "ten", "0s", "1e9"};
const std::vector<const char*> kBadSizes{"0", "-1", "nan", "inf", "5x", " 5", "0m", "0.1b", "1e3", "many"};
const std::vector<const char*> kBadSwitches{"2", "y", "enable", "true ", "-1", "nan", "ja"};
const std::vector<std::pair<const char*, json>> kSwitches{{"1", true},   {"true", true}, {"YES", true},
                                                          {"on", true},  {"0", false},   {"False", false},
                                                          {"no", false}, {"OFF", false}};
constexpr std::int64_t kMi = 1024L * 1024;

const Row kRows[] = {
    {"",
     "TERMINAL_ENV",
     "backend",
     {{"docker", "docker"},
      {" Docker\t", "docker"},
      {"SSH", "ssh"},
      {"Podman", "docker"},
      {"bubblewrap", "bwrap"},
      {"apptainer", "singularity"},
      {"bwrap", "bwrap"},
      {"modal", "modal"},
      {"daytona", "daytona"}},
     {"dockr", "vercel_sandbox", " ", "docker,ssh", "0"}},
    {"", "TERMINAL_PROFILE", "profile", {{"install", "install"}}, {"nope", " install", "Install"}},
    {"",
     "TERMINAL_SESSION",
     "session.name",
     {{"build", "build"}, {"a.b-c_d", "a.b-c_d"}},
     {"a b", "../x", "-x", "a/b"}},
    {"",
     "TERMINAL_CWD",
     "cwd",
     {{"/srv", "/srv"}, {"sub", "sub"}, {"/\xC3\x9C (1) #&'", "/\xC3\x9C (1) #&'"}},
     {"\xFF"}},
    {"",
     "TERMINAL_TIMEOUT",
     "resources.timeout",
     {{"180", 180'000}, {"5m", 300'000}, {"30s", 30'000}, {"250ms", 250}, {"none", nullptr}},
     kBadDurations},
    {"", "TERMINAL_LIFETIME_SECONDS", "session.idle_timeout", {{"300", 300'000}, {"10m", 600'000}}, kBadDurations},
    {"", "TERMINAL_DEGRADED_MODE", "on_unavailable", {{"fail", "closed"}, {"warn", "ask"}}, {"open", "closed", "1"}},
    {"",
     "TERMINAL_CONTAINER_CPU",
     "resources.cpu",
     {{"1", 1.0}, {"0.5", 0.5}},
     {"0", "-1", "nan", "inf", "1x", "+1", "1e1"}},
    {"",
     "TERMINAL_CONTAINER_MEMORY",
     "resources.memory",
     {{"5120", 5120 * kMi}, {"512m", 512 * kMi}, {"2GiB", 2048 * kMi}},
     kBadSizes},
    {"docker", "TERMINAL_CONTAINER_MEMORY", "resources.memory", {{"1", kMi}}, kBadSizes},
    {"", "TERMINAL_CONTAINER_DISK", "resources.disk", {{"51200", 51200 * kMi}, {"10g", 10240 * kMi}}, kBadSizes},
    {"", "TERMINAL_CONTAINER_PERSISTENT", "session.persistent", kSwitches, kBadSwitches},
    {"", "TERMINAL_BUBBLEWRAP_MEMORY_MB", "resources.memory", {{"256", 256 * kMi}}, kBadSizes},
    {"", "TERMINAL_BUBBLEWRAP_MAX_PROCS", "resources.pids", {{"256", 256}}, {"0", "-1", "1.5", "x", "99999999999"}},
    {"",
     "TERMINAL_BUBBLEWRAP_PROFILE",
     "network.mode",
     {{"restricted", "none"}, {"workspace", "none"}, {" Network ", "full"}},
     {"full", "netwrok", "1"}},
    {"",
     "TERMINAL_BUBBLEWRAP_PROFILE",
     "filesystem.workspace_access",
     {{"restricted", "ro"}, {"workspace", "rw"}, {"network", "rw"}},
     {"none"}},
    {"",
     "TERMINAL_BUBBLEWRAP_HOME_ALLOW",
     "filesystem.allow_read",
     {{R"(["~/.config/x"])", {"~/.config/x"}}, {"[]", json::array()}},
     {"x", "{}", "[1]", "[\"a\"", "[\"/a*\"]", "null", "\"a\""}},
    {"",
     "TERMINAL_BUBBLEWRAP_HOME_HIDE",
     "filesystem.deny_read",
     {{R"(["~/x", "~/y"])", {"~/x", "~/y"}}},
     {"a,b", "{\"a\":1}"}},
    {"", "TERMINAL_BWRAP_IMAGE", "image", {{"x", "x"}}, {"a b"}},
    {"docker", "TERMINAL_DOCKER_IMAGE", "image", {{"debian:12", "debian:12"}}, {"a b"}},
    {"podman", "TERMINAL_DOCKER_IMAGE", "image", {{"debian:12", "debian:12"}}, {}},
    {"modal", "TERMINAL_MODAL_IMAGE", "image", {{"x", "x"}}, {}},
    {"daytona", "TERMINAL_DAYTONA_IMAGE", "image", {{"x", "x"}}, {}},
    {"singularity", "TERMINAL_SINGULARITY_IMAGE", "image", {{"docker://x", "docker://x"}}, {}},
    {"firecracker", "TERMINAL_FIRECRACKER_IMAGE", "image", {{"x", "x"}}, {}},
    {"firecracker", "TERMINAL_FIRECRACKER_KERNEL", "backends.firecracker.kernel", {{"/boot/x", "/boot/x"}}, {}},
    {"firecracker",
     "TERMINAL_FIRECRACKER_VCPUS",
     "backends.firecracker.vcpus",
     {{"4", 4}},
     {"0", "-1", "1.5", "x", "nan", "4 "}},
    {"firecracker",
     "TERMINAL_FIRECRACKER_OFFSET",
     "backends.firecracker.offset",
     {{"-4", -4}, {"0", 0}},
     {"1.5", "x", "+1"}},
    {"firecracker",
     "TERMINAL_FIRECRACKER_RATIO",
     "backends.firecracker.ratio",
     {{"0.5", 0.5}, {"-1", -1}},
     {"nan", "inf", "x", "0.5x"}},
    {"firecracker", "TERMINAL_FIRECRACKER_DEBUG", "backends.firecracker.debug", kSwitches, kBadSwitches},
    {"firecracker",
     "TERMINAL_FIRECRACKER_DISK_SIZE",
     "backends.firecracker.disk_size",
     {{"512", 512 * kMi}},
     kBadSizes},
    {"firecracker",
     "TERMINAL_FIRECRACKER_BOOT_TIMEOUT",
     "backends.firecracker.boot_timeout",
     {{"3", 3000}},
     kBadDurations},
    {"firecracker",
     "TERMINAL_FIRECRACKER_VOLUMES",
     "backends.firecracker.volumes",
     {{R"(["a:b"])", {"a:b"}}},
     {"a:b", "[1]", "{}"}},
    {"firecracker",
     "TERMINAL_FIRECRACKER_LABELS",
     "backends.firecracker.labels",
     {{R"({"a": "b"})", {{"a", "b"}}}},
     {"[]", R"({"a": 1})", R"({"a":"1","a":"2"})"}},
    {"firecracker", "TERMINAL_FIRECRACKER_NET_BRIDGE", "backends.firecracker.net.bridge", {{"br0", "br0"}}, {"BR0"}},
    {"firecracker",
     "FC_TOKEN",
     "backends.firecracker.api_token",
     {{"abcdefghijklmnopqrst", "abcdefghijklmnopqrst"}},
     {"hunter2"}},
    {"firecracker",
     "TERMINAL_FC_TOKEN",
     "backends.firecracker.api_token",
     {{"abcdefghijklmnopqrst", "abcdefghijklmnopqrst"}},
     {"hunter2"}},
    {"firecracker",
     "TERMINAL_FIRECRACKER_API_TOKEN",
     "backends.firecracker.api_token",
     {{"abcdefghijklmnopqrst", "abcdefghijklmnopqrst"}},
     {"hunter2"}},
};

class Variable : public testing::TestWithParam<Row> {
 protected:
  static Case given(const std::string& text) {
    Case given{.plugins = {plugin()}};
    if (*GetParam().backend != '\0') given.environment["TERMINAL_ENV"] = GetParam().backend;
    given.environment[GetParam().variable] = text;
    return given;
  }
};

TEST_P(Variable, SetsItsSetting) {
  for (const auto& [text, value] : GetParam().good) {
    const Settings settings = resolved(given(text));
    EXPECT_EQ(settings.at(GetParam().setting), value) << text;
    EXPECT_EQ(settings.origin(GetParam().setting).scope, Scope::environment) << text;
    EXPECT_EQ(settings.origin(GetParam().setting).source, GetParam().variable) << text;
    EXPECT_THAT(settings.warnings(), IsEmpty()) << text;
  }
}

TEST_P(Variable, BadTextIsAnErrorNamingVariableAndRule) {
  auto texts = GetParam().bad;
  texts.push_back("");
  for (const char* text : texts) {
    const std::string message = failure_of(given(text));
    EXPECT_TRUE(message.starts_with(std::string(GetParam().variable) + ": ")) << text << ": " << message;
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Terminal, Variable, testing::ValuesIn(kRows));

TEST(Variables, EveryOneOfTheSchemaIsInTheTable) {
  std::set<std::string> rows;
  for (const Row& row : kRows) rows.insert(std::string(row.variable) + " " + row.setting);
  const auto tree = SchemaTree::make({});
  ASSERT_TRUE(tree);
  std::size_t found = 0;
  for (const auto& [path, node] : tree->leaves()) {
    const json* names = node.keyword("x-env");
    if (names == nullptr) continue;
    for (const json& name : names->is_array() ? *names : json::array({*names})) {
      if (name == "TERMINAL_<ID>_IMAGE") continue;
      EXPECT_TRUE(rows.contains(name.get<std::string>() + " " + dotted(path))) << name << " " << dotted(path);
      ++found;
    }
  }
  EXPECT_GE(found, 16U);
}

TEST(Variables, AnUnknownBackendListsTheKnownOnes) {
  EXPECT_THAT(
      failure_of({.environment = {{"TERMINAL_ENV", "kubernetes"}}, .plugins = {plugin()}}),
      HasSubstr(
          "TERMINAL_ENV: backend: \"kubernetes\": no such backend; known are bwrap, docker, ssh, singularity, modal, "
          "daytona, local, firecracker"));
}

TEST(Variables, LocalIsTheNodeTier) {
  const Settings settings = resolved({.environment = {{"TERMINAL_ENV", " Local "}}});
  EXPECT_EQ(settings.at("tier"), "node");
  EXPECT_EQ(settings.origin("tier").source, "TERMINAL_ENV");
}

// A variable of a backend that is not chosen may hold anything.
TEST(Variables, OfAnotherBackendAreNotEvenParsed) {
  const std::pair<const char*, const char*> junk[] = {
      {"TERMINAL_DOCKER_VOLUMES", "not json"},
      {"TERMINAL_SSH_PORT", "junk"},
      {"TERMINAL_FIRECRACKER_VCPUS", "-5"},
      {"TERMINAL_FIRECRACKER_DEBUG", "maybe"},
      {"TERMINAL_DOCKER_IMAGE", "a b"},
      {"TERMINAL_DOCKER_NETWORK", ""},
      {"FC_TOKEN", "short"},
      {"TERMINAL_MODAL_MODE", "\xFF"},
  };
  for (const auto& [name, text] : junk) {
    const Settings settings = resolved({.environment = {{name, text}}, .plugins = {plugin()}});
    EXPECT_TRUE(settings.origins().empty()) << name;
  }
  const std::pair<const char*, const char*> of_containers[] = {{"TERMINAL_CONTAINER_CPU", "junk"},
                                                               {"TERMINAL_BUBBLEWRAP_MAX_PROCS", "0"},
                                                               {"TERMINAL_BUBBLEWRAP_PROFILE", "junk"}};
  for (const auto& [name, text] : of_containers) {
    for (const char* backend : {"ssh", "local"}) {
      EXPECT_EQ(failure_of({.environment = {{name, text}, {"TERMINAL_ENV", backend}}}), "") << name << " " << backend;
    }
    EXPECT_NE(failure_of({.environment = {{name, text}}}), "") << name;
  }
  EXPECT_EQ(failure_of({.environment = {{"TERMINAL_BUBBLEWRAP_PROFILE", "junk"}, {"TERMINAL_ENV", "docker"}}}), "");
}

TEST(Variables, TheChosenBackendIsTheOneThatRuns) {
  // Chosen by a file, an option, a profile, the administrator: always the same one decides.
  const std::map<std::string, std::string> variables{{"TERMINAL_FIRECRACKER_VCPUS", "8"}, {"TERMINAL_ENV", "ssh"}};
  const json chosen{{"backend", "firecracker"}};
  EXPECT_EQ(resolved({.environment = variables, .plugins = {plugin()}}).at("backends.firecracker.vcpus"), 1);
  EXPECT_EQ(
      resolved({.environment = variables, .request = chosen, .plugins = {plugin()}}).at("backends.firecracker.vcpus"),
      8);
  EXPECT_EQ(
      resolved({.managed = chosen, .environment = variables, .plugins = {plugin()}}).at("backends.firecracker.vcpus"),
      8);
  Case by_profile{.user = {{"profiles", {{"mine", chosen}}}, {"profile", "mine"}},
                  .environment = {{"TERMINAL_FIRECRACKER_VCPUS", "8"}},
                  .plugins = {plugin()}};
  EXPECT_EQ(resolved(by_profile).at("backends.firecracker.vcpus"), 8);
}

TEST(Variables, APluginsOwnImageIsItsOwn) {
  PluginSettings own = plugin();
  own.schema["properties"]["image"] = {{"type", "string"}};
  const Settings settings = resolved(
      {.environment = {{"TERMINAL_ENV", "firecracker"}, {"TERMINAL_FIRECRACKER_IMAGE", "x"}}, .plugins = {own}});
  EXPECT_EQ(settings.at("backends.firecracker.image"), "x");
  EXPECT_EQ(settings.at("image"), "");
}

TEST(Variables, AHyphenInABackendsIdIsAnUnderscore) {
  PluginSettings own = plugin();
  own.backend = "my-box" + std::string(42, '2');  // as long as a manifest allows
  const std::string variable = "TERMINAL_MY_BOX" + std::string(42, '2') + "_VCPUS";
  const Settings settings =
      resolved({.environment = {{"TERMINAL_ENV", own.backend}, {variable, "8"}}, .plugins = {own}});
  EXPECT_EQ(settings.at("backends." + own.backend + ".vcpus"), 8);
}

TEST(Variables, TwoForOneSettingAreMentioned) {
  const Settings settings =
      resolved({.environment = {{"TERMINAL_CONTAINER_MEMORY", "512"}, {"TERMINAL_BUBBLEWRAP_MEMORY_MB", "256"}}});
  EXPECT_EQ(settings.at("resources.memory"), 256 * kMi);
  EXPECT_THAT(settings.warnings(), ElementsAre(HasSubstr("TERMINAL_BUBBLEWRAP_MEMORY_MB decides")));
}

TEST(Variables, UnknownNamesAreIgnoredNearMissesWarned) {
  const auto warnings = [](const std::string& name) {
    return resolved({.environment = {{name, "x"}}, .plugins = {plugin()}}).warnings();
  };
  for (const char* name :
       {"TERMINAL_WHATEVER", "TERMINAL_EMULATOR", "TERMINAL", "TERM", "TERMINATE", "TERMINAL_X", "PATH",
        "TERMINAL_MAX_FOREGROUND_TIMEOUT", "TERMINAL_SANDBOX_DIR", "TERMINAL_DOCKER_EXTRA_ARGS"}) {
    EXPECT_THAT(warnings(name), IsEmpty()) << name;
  }
  const std::pair<const char*, const char*> slips[] = {{"TERMINAL_TIMOUT", "TERMINAL_TIMEOUT"},
                                                       {"TERMINAL_TIEMOUT", "TERMINAL_TIMEOUT"},
                                                       {"TERMNAL_ENV", "TERMINAL_ENV"},
                                                       {"terminal_env", "TERMINAL_ENV"},
                                                       {"TERMINAL_DOKCER_IMAGE", "TERMINAL_DOCKER_IMAGE"},
                                                       {"TERMINAL_CONTAINER_MEMROY", "TERMINAL_CONTAINER_MEMORY"},
                                                       {"TERMINAL_FIRECRACKER_VCPU", "TERMINAL_FIRECRACKER_VCPUS"}};
  for (const auto& [name, meant] : slips) {
    EXPECT_THAT(warnings(name), ElementsAre(HasSubstr(std::string("did you mean ") + meant + "?"))) << name;
  }
}

TEST(Variables, LimitsWithoutACounterpartAreMentioned) {
  EXPECT_THAT(resolved({.environment = {{"TERMINAL_BUBBLEWRAP_CPU_SECONDS", "30"}}}).warnings(),
              ElementsAre(HasSubstr("TERMINAL_BUBBLEWRAP_CPU_SECONDS has no effect")));
  EXPECT_THAT(
      resolved({.environment = {{"TERMINAL_BUBBLEWRAP_CPU_SECONDS", "30"}, {"TERMINAL_ENV", "docker"}}}).warnings(),
      IsEmpty());
}

TEST(Variables, CwdMakesNothingWritable) {
  const Settings with = resolved({.environment = {{"TERMINAL_CWD", "/home"}}});
  const Settings without = resolved({});
  EXPECT_EQ(with.at("filesystem"), without.at("filesystem"));
  EXPECT_EQ(with.at("workspace"), without.at("workspace"));
}

TEST(Variables, OfOthersAreNoBusinessOfOurs) {
  EXPECT_TRUE(resolved({.environment = {{"LANG", "C"}, {"PATH", "\xFF"}, {"", ""}, {"A=B", ""}}}).origins().empty());
}

}  // namespace
}  // namespace exechost::settings::test

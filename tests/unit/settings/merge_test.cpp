// Which document wins, and how each value remembers where it came from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"

namespace exechost::settings::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One setting set in every scope with a value of its own; every subset of the scopes is tried.
TEST(Precedence, TheStrongestScopeWinsWhateverElseIsSaid) {
  struct Said {
    Scope scope;
    int seconds;
  };
  const Said scopes[] = {{Scope::system, 70},      {Scope::user, 60},    {Scope::project, 50}, {Scope::profile, 40},
                         {Scope::environment, 30}, {Scope::request, 20}, {Scope::managed, 10}};
  for (unsigned subset = 0; subset < 128; ++subset) {
    Case given;
    const Said* expected = nullptr;
    for (unsigned i = 0; i < 7; ++i) {
      if ((subset >> i & 1) == 0) continue;
      expected = &scopes[i];
      const json value = at("resources.timeout", scopes[i].seconds);
      switch (scopes[i].scope) {
        case Scope::system: given.system = value; break;
        case Scope::user: given.user = value; break;
        case Scope::project: given.project = value; break;
        case Scope::environment: given.environment["TERMINAL_TIMEOUT"] = std::to_string(scopes[i].seconds); break;
        case Scope::request: given.request = value; break;
        case Scope::managed: given.managed = value; break;
        default: break;
      }
    }
    if ((subset >> 3 & 1) != 0) {  // a profile has to be defined and chosen somewhere
      if (given.system.is_null()) given.system = json::object();
      given.system["profiles"]["mine"] = at("resources.timeout", 40);
      given.system["profile"] = "mine";
    }
    const Settings settings = resolved(given);
    if (expected == nullptr) {
      EXPECT_TRUE(settings.at("resources.timeout").is_null());
      continue;
    }
    EXPECT_EQ(settings.at("resources.timeout"), expected->seconds * 1000) << subset;
    EXPECT_EQ(settings.origin("resources.timeout").scope, expected->scope) << subset;
  }
}

TEST(Precedence, SettingBySettingNotDocumentByDocument) {
  const Settings settings = resolved({.system = {{"resources", {{"memory", "1g"}, {"pids", 100}}}},
                                      .user = {{"resources", {{"memory", "2g"}}}},
                                      .request = {{"resources", {{"cpu", 1}}}}});
  EXPECT_EQ(settings.at("resources.memory"), 2LL << 30);
  EXPECT_EQ(settings.at("resources.pids"), 100);
  EXPECT_EQ(settings.at("resources.cpu"), 1.0);
  EXPECT_EQ(settings.origin("resources.pids").scope, Scope::system);
  // A group answers with its strongest member.
  EXPECT_EQ(settings.origin("resources").scope, Scope::request);
  EXPECT_FALSE(settings.requested("network"));
  EXPECT_FALSE(settings.requested("resource"));
}

TEST(Precedence, ListsAreReplacedWhole) {
  const Settings settings =
      resolved({.system = at("filesystem.allow_write", {"/a", "/b"}), .user = at("filesystem.allow_write", {"/c"})});
  EXPECT_EQ(settings.at("filesystem.allow_write"), json({"/c"}));
}

TEST(Precedence, AnExplicitNoneOverridesALimit) {
  const Settings settings =
      resolved({.user = at("resources.timeout", "5m"), .request = at("resources.timeout", nullptr)});
  EXPECT_TRUE(settings.at("resources.timeout").is_null());
  EXPECT_TRUE(settings.requested("resources.timeout"));
}

TEST(Precedence, TheSameValueAsTheDefaultStillIsARequest) {
  EXPECT_TRUE(resolved({.user = at("resources.pids", 512)}).requested("resources.pids"));
}

TEST(Precedence, VariablesToSetMergeByName) {
  const Settings settings = resolved(
      {.system = at("environment.set", {{"A", "1"}, {"B", "1"}}), .request = at("environment.set", {{"B", "2"}})});
  EXPECT_EQ(settings.at("environment.set"), json({{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(settings.origin("environment.set.A").scope, Scope::system);
  EXPECT_EQ(settings.origin("environment.set.B").scope, Scope::request);
}

class DenyList : public testing::TestWithParam<const char*> {};

TEST_P(DenyList, UnitesOverAllScopes) {
  const std::string name = GetParam();
  Case given{.system = at(name, {"a"}),
             .user = at(name, {"b", "a"}),
             .project = at(name, {"c"}),
             .managed = at(name, {"f"}),
             .request = at(name, {"e"})};
  given.system["profiles"]["mine"] = at(name, {"d"});
  given.system["profile"] = "mine";
  const Settings settings = resolved(given);
  json expected = resolved({}).at(name);
  for (const char* entry : {"a", "b", "c", "d", "e", "f"}) expected.push_back(entry);
  EXPECT_EQ(settings.at(name), expected);
  EXPECT_EQ(settings.origin(name).scope, Scope::managed);
  EXPECT_THAT(settings.origin(name).source, HasSubstr("user.json + project.json"));
  EXPECT_THAT(settings.warnings(), IsEmpty());
  // An empty list takes nothing away.
  EXPECT_EQ(resolved({.system = at(name, {"a"}), .request = at(name, json::array())}).at(name).back(), "a");
}
INSTANTIATE_TEST_SUITE_P(Settings, DenyList,
                         testing::Values("filesystem.deny_write", "filesystem.deny_read", "network.denied_domains",
                                         "environment.exclude"));

TEST(Provenance, OptionsOfTheCommandLineAreNamed) {
  const Settings settings = resolved(
      {.request = {{"backend", "docker"}, {"resources", {{"cpu", 1}, {"memory", 1}}}},
       .request_sources = {{"/backend", "--backend"}, {"/resources", "--set resources"}, {"/resources/cpu", "--cpu"}}});
  EXPECT_EQ(settings.origin("backend").source, "--backend");
  EXPECT_EQ(settings.origin("resources.cpu").source, "--cpu");
  EXPECT_EQ(settings.origin("resources.memory").source, "--set resources");
  EXPECT_EQ(resolved({.request = {{"image", "x"}}}).origin("image").source, "request");
  EXPECT_THAT(failure_of({.request = at("resources.cpu", -1), .request_sources = {{"/resources/cpu", "--cpu"}}}),
              HasSubstr("--cpu: resources.cpu: -1: a number of cores"));
}

TEST(Contradictions, AVariableAgainstAFileIsMentioned) {
  const Settings settings =
      resolved({.user = at("resources.timeout", "30s"), .environment = {{"TERMINAL_TIMEOUT", "60"}}});
  EXPECT_EQ(settings.at("resources.timeout"), 60'000);
  EXPECT_THAT(settings.warnings(),
              ElementsAre("resources.timeout: 1m from TERMINAL_TIMEOUT overrides 30s from user.json"));
  EXPECT_THAT(
      resolved({.user = at("resources.timeout", "60s"), .environment = {{"TERMINAL_TIMEOUT", "1m"}}}).warnings(),
      IsEmpty());
  EXPECT_THAT(resolved({.user = {{"backend", "docker"}}, .environment = {{"TERMINAL_ENV", "ssh"}}}).warnings(),
              ElementsAre("backend: \"ssh\" from TERMINAL_ENV overrides \"docker\" from user.json"));
}

TEST(Contradictions, AreErrorsUnderStrict) {
  const std::string message = failure_of(
      {.user = {{"strict", true}, {"resources", {{"timeout", "30s"}}}}, .environment = {{"TERMINAL_TIMEOUT", "60"}}});
  EXPECT_THAT(message, HasSubstr("TERMINAL_TIMEOUT overrides"));
}

TEST(Managed, FixesValuesAndSaysSo) {
  const Settings settings =
      resolved({.managed = {{"network", {{"mode", "none"}}}, {"resources", {{"memory", "1g"}}}},
                .request = {{"network", {{"mode", "full"}}}, {"resources", {{"memory", "1024m"}}}}});
  EXPECT_EQ(settings.at("network.mode"), "none");
  EXPECT_EQ(settings.origin("network.mode").scope, Scope::managed);
  EXPECT_THAT(settings.warnings(),
              ElementsAre("network.mode: \"none\" is fixed by managed.json; \"full\" from request is not used"));
}

TEST(Managed, ItsOwnKeysStandNowhereElse) {
  const json value = at("managed.forbidden_profiles", {"install"});
  EXPECT_EQ(resolved({.managed = value}).at("managed.forbidden_profiles"), json({"install"}));
  EXPECT_THAT(failure_of({.system = value}), HasSubstr("may stand only in managed settings"));
  EXPECT_THAT(failure_of({.request = value}), HasSubstr("may stand only in managed settings"));
  EXPECT_THAT(failure_of({.project = value}), HasSubstr("may stand only in managed settings"));
}

struct Unavailable {
  const char* description;
  Case given;
  const char* decides;  // on_unavailable, or "" for an error
};

TEST(OnUnavailable, TwoSpellingsOneDecision) {
  const Unavailable cases[] = {
      {"true means closed", {.user = {{"fail_if_unavailable", true}}}, "closed"},
      {"false means open", {.user = {{"fail_if_unavailable", false}}}, "open"},
      {"agreement", {.user = {{"fail_if_unavailable", true}, {"on_unavailable", "closed"}}}, "closed"},
      {"agreement over scopes",
       {.user = {{"fail_if_unavailable", false}}, .request = {{"on_unavailable", "open"}}},
       "open"},
      {"contradiction", {.user = {{"fail_if_unavailable", true}, {"on_unavailable", "open"}}}, ""},
      {"ask is neither", {.user = {{"fail_if_unavailable", true}, {"on_unavailable", "ask"}}}, ""},
      {"contradiction over scopes",
       {.user = {{"fail_if_unavailable", true}}, .request = {{"on_unavailable", "open"}}},
       ""},
      {"contradiction with a variable",
       {.user = {{"fail_if_unavailable", false}}, .environment = {{"TERMINAL_DEGRADED_MODE", "fail"}}},
       ""},
      {"stronger scope, one spelling",
       {.user = {{"fail_if_unavailable", true}}, .request = {{"fail_if_unavailable", false}}},
       "open"},
      {"managed wins",
       {.managed = {{"on_unavailable", "closed"}}, .request = {{"fail_if_unavailable", false}}},
       "closed"},
      {"managed wins the other way",
       {.managed = {{"fail_if_unavailable", true}}, .request = {{"on_unavailable", "open"}}},
       "closed"},
      {"managed contradiction", {.managed = {{"fail_if_unavailable", true}, {"on_unavailable", "open"}}}, ""},
  };
  for (const auto& [description, given, decides] : cases) {
    SCOPED_TRACE(description);
    if (*decides == '\0') {
      EXPECT_THAT(failure_of(given), HasSubstr("contradicts on_unavailable"));
      continue;
    }
    const Settings settings = resolved(given);
    EXPECT_EQ(settings.at("on_unavailable"), decides);
    EXPECT_TRUE(settings.requested("on_unavailable"));
    if (!settings.at("fail_if_unavailable").is_null()) {
      EXPECT_EQ(settings.at("fail_if_unavailable"), settings.at("on_unavailable") == "closed");
    }
  }
}

struct TierCase {
  const char* description;
  Case given;
  const char* tier;
  const char* backend;
};

TEST(Tier, ABackendDecidesItUnlessItIsSaid) {
  const TierCase cases[] = {
      {"default", {}, "sandbox", "bwrap"},
      {"local is the node tier", {.user = {{"backend", "local"}}}, "node", "bwrap"},
      {"variable", {.environment = {{"TERMINAL_ENV", "local"}}}, "node", "bwrap"},
      {"a stronger backend leaves the node tier",
       {.environment = {{"TERMINAL_ENV", "local"}}, .request = {{"backend", "docker"}}},
       "sandbox",
       "docker"},
      {"a stronger tier keeps the backend",
       {.environment = {{"TERMINAL_ENV", "docker"}}, .request = {{"tier", "node"}}},
       "node",
       "docker"},
      {"a stronger sandbox tier",
       {.environment = {{"TERMINAL_ENV", "local"}}, .request = {{"tier", "sandbox"}}},
       "sandbox",
       "bwrap"},
      {"local over a file's backend",
       {.user = {{"backend", "docker"}}, .environment = {{"TERMINAL_ENV", "local"}}},
       "node",
       "docker"},
      {"both said", {.user = {{"backend", "local"}, {"tier", "node"}}}, "node", "bwrap"},
      {"managed", {.managed = {{"backend", "bwrap"}}, .environment = {{"TERMINAL_ENV", "local"}}}, "sandbox", "bwrap"},
  };
  for (const auto& [description, given, tier, backend] : cases) {
    SCOPED_TRACE(description);
    const Settings settings = resolved(given);
    EXPECT_EQ(settings.at("tier"), tier);
    EXPECT_EQ(settings.at("backend"), backend);
  }
  EXPECT_EQ(resolved({.environment = {{"TERMINAL_ENV", "local"}}}).origin("tier").source, "TERMINAL_ENV");
  EXPECT_THAT(failure_of({.user = {{"backend", "local"}, {"tier", "sandbox"}}}), HasSubstr("local is the node tier"));
  for (const char* tier : {"node", "gateway"}) {
    EXPECT_THAT(failure_of({.request = {{"backend", "docker"}, {"tier", tier}}}),
                HasSubstr("backends are for the sandbox tier"))
        << tier;
  }
}

TEST(Plugins, TheirOwnSettingsAreCheckedNormalisedAndMerged) {
  const Settings settings =
      resolved({.user = at("backends.firecracker", {{"disk_size", "2g"}, {"labels", {{"a", "1"}}}}),
                .request = at("backends.firecracker", {{"labels", {{"b", "2"}}}, {"net", {{"bridge", "br0"}}}}),
                .plugins = {plugin()}});
  EXPECT_EQ(settings.at("backends.firecracker.disk_size"), 2LL << 30);
  EXPECT_EQ(settings.at("backends.firecracker.labels"), json({{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(settings.at("backends.firecracker.net.bridge"), "br0");
  EXPECT_EQ(settings.at("backends.firecracker.kernel"), "vmlinux");
  EXPECT_EQ(settings.at("backends.firecracker.vcpus"), 1);
  EXPECT_TRUE(settings.at("backends.firecracker.boot_timeout").is_null());
  EXPECT_EQ(settings.origin("backends.firecracker.disk_size").scope, Scope::user);
}

TEST(Plugins, WhatHasNoValueIsNotHandedOnInNoDepth) {
  const Settings settings = resolved({.plugins = {plugin()}});
  ASSERT_TRUE(settings.at("backends.firecracker.net.bridge").is_null());
  const json own = settings.backend_settings("firecracker");
  EXPECT_EQ(own.at("vcpus"), 1);
  EXPECT_FALSE(own.contains("boot_timeout"));
  EXPECT_EQ(own.at("net"), json::object());
}

TEST(Plugins, BadSettingsOfTheirsAreErrors) {
  const std::pair<json, const char*> cases[] = {
      {{{"kernal", "x"}}, "backends.firecracker.kernal: unknown name (did you mean kernel?)"},
      {{{"vcpus", 0}}, "backends.firecracker.vcpus: 0: must be at least 1"},
      {{{"disk_size", "0"}}, "backends.firecracker.disk_size: \"0\": a size is"},
      {{{"net", {{"bridge", "BR0"}}}}, "backends.firecracker.net.bridge: \"BR0\": must match"},
      {{{"api_token", "hunter2"}}, "backends.firecracker.api_token: (secret): must have at least 20"},
  };
  for (const auto& [value, says] : cases) {
    EXPECT_THAT(failure_of({.user = at("backends.firecracker", value), .plugins = {plugin()}}), HasSubstr(says));
    // In a profile too, chosen or not.
    EXPECT_THAT(failure_of({.user = at("profiles.mine", at("backends.firecracker", value)), .plugins = {plugin()}}),
                HasSubstr(std::string("profiles.mine.") + says));
  }
}

TEST(Plugins, ABrokenSchemaNamesThePlugin) {
  EXPECT_THAT(failure_of({.plugins = {{"broken", {{"properties", {{"a", {{"format", "uri"}}}}}}}}}),
              HasSubstr("settings schema of the backend broken"));
}

TEST(Plugins, SettingsOfOneThatIsNotInstalledAreKept) {
  EXPECT_EQ(resolved({.user = at("backends.docker", {{"volumes", {"a:b"}}})}).at("backends.docker.volumes"),
            json({"a:b"}));
}

}  // namespace
}  // namespace exechost::settings::test

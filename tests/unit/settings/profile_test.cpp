#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"

namespace exechost::settings::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Profiles, BuiltInOnes) {
  EXPECT_FALSE(resolved({}).requested("network.mode"));
  const Settings install = resolved({.request = {{"profile", "install"}}});
  EXPECT_EQ(install.at("network.mode"), "filtered");
  EXPECT_EQ(install.origin("network.mode").scope, Scope::profile);
  EXPECT_EQ(install.origin("network.mode").source, "profile install");
  EXPECT_EQ(resolved({.request = {{"profile", "read_only"}}}).at("filesystem.workspace_access"), "ro");
  EXPECT_EQ(resolved({.request = {{"profile", "run"}}}).values(), resolved({}).values());
}

TEST(Profiles, CanBeChosenFromAnyScopeButAProject) {
  EXPECT_EQ(resolved({.system = {{"profile", "install"}}}).at("network.mode"), "filtered");
  EXPECT_EQ(resolved({.environment = {{"TERMINAL_PROFILE", "install"}}}).at("network.mode"), "filtered");
  EXPECT_EQ(resolved({.user = {{"profile", "install"}}, .request = {{"profile", "run"}}}).at("network.mode"), "none");
  EXPECT_EQ(resolved({.managed = {{"profile", "read_only"}}, .request = {{"profile", "run"}}})
                .at("filesystem.workspace_access"),
            "ro");
  EXPECT_THAT(failure_of({.project = {{"profile", "install"}}}), HasSubstr("a project's file may not set this"));
}

TEST(Profiles, LieOverFilesAndUnderVariables) {
  Case given{.user = {{"profiles", {{"mine", {{"resources", {{"timeout", "10s"}, {"pids", 5}}}}}}},
                      {"profile", "mine"},
                      {"resources", {{"pids", 9}}}}};
  EXPECT_EQ(resolved(given).at("resources.pids"), 5);
  EXPECT_EQ(resolved(given).at("resources.timeout"), 10'000);
  EXPECT_EQ(resolved(given).origin("resources.timeout").source, "profile mine (user.json)");
  given.environment["TERMINAL_TIMEOUT"] = "20";
  EXPECT_EQ(resolved(given).at("resources.timeout"), 20'000);
}

TEST(Profiles, ABuiltInNameIsAddedTo) {
  const Settings settings = resolved({.system = at("profiles.install", at("network.allowed_domains", {"a.org"})),
                                      .user = at("profiles.install", at("network.denied_domains", {"b.org"})),
                                      .request = {{"profile", "install"}}});
  EXPECT_EQ(settings.at("network.mode"), "filtered");
  EXPECT_EQ(settings.at("network.allowed_domains"), json({"a.org"}));
  EXPECT_EQ(settings.at("network.denied_domains"), json({"b.org"}));
}

TEST(Profiles, MayBeEmpty) {
  EXPECT_EQ(resolved({.user = {{"profiles", {{"mine", json::object()}}}, {"profile", "mine"}}}).at("profile"), "mine");
}

TEST(Profiles, MayChooseABackend) {
  const Case given{.user = {{"profiles", {{"far", {{"backend", "ssh"}}}, {"plain", {{"backend", "local"}}}}}},
                   .request = {{"profile", "far"}}};
  EXPECT_EQ(resolved(given).at("backend"), "ssh");
  Case plain = given;
  plain.request = {{"profile", "plain"}};
  EXPECT_EQ(resolved(plain).at("tier"), "node");
}

TEST(Profiles, UnknownOnesNameTheNearest) {
  EXPECT_THAT(failure_of({.request = {{"profile", "instal"}}, .request_sources = {{"/profile", "--profile"}}}),
              HasSubstr("--profile: profile: \"instal\": no such profile (did you mean install?); known are install, "
                        "read_only, run"));
  EXPECT_THAT(
      failure_of({.user = {{"profiles", {{"mine", json::object()}}}}, .environment = {{"TERMINAL_PROFILE", "other"}}}),
      HasSubstr("TERMINAL_PROFILE: profile: \"other\": no such profile; known are install, mine, read_only, run"));
}

TEST(Profiles, ContentIsChecked) {
  for (const char* name : {"profile", "strict", "$schema"}) {
    const json value = std::string(name) == "strict" ? json(true) : json("run");
    EXPECT_THAT(failure_of({.user = at("profiles.mine", {{name, value}})}),
                HasSubstr("a profile can't set " + std::string(name)));
  }
  EXPECT_THAT(failure_of({.user = at("profiles.mine", {{"profiles", json::object()}})}),
              HasSubstr("a profile can't set profiles"));
  EXPECT_THAT(failure_of({.user = at("profiles.mine", {{"plugins", json::object()}})}),
              HasSubstr("a profile can't set plugins"));
  EXPECT_THAT(failure_of({.managed = at("profiles.mine", {{"managed", json::object()}})}),
              HasSubstr("a profile can't set managed"));
  EXPECT_THAT(failure_of({.user = at("profiles.mine", at("resources.memroy", 1))}),
              HasSubstr("profiles.mine.resources.memroy: unknown name"));
  EXPECT_THAT(failure_of({.user = at("profiles.mine", at("resources.memory", 0))}),
              HasSubstr("profiles.mine.resources.memory: 0: a size"));
  EXPECT_THAT(failure_of({.user = at("profiles.Mine!", json::object())}), HasSubstr("a profile name is"));
}

TEST(Profiles, AProjectDefinesNone) {
  EXPECT_THAT(failure_of({.project = at("profiles.mine", at("network.mode", "full"))}), HasSubstr("may not set this"));
  EXPECT_THAT(failure_of({.project = at("profiles.run", at("network.mode", "full"))}), HasSubstr("may not set this"));
  EXPECT_THAT(failure_of({.project = at("profiles.mine", json::object()), .request = {{"profile", "mine"}}}),
              HasSubstr("may not set this"));
}

TEST(Profiles, ManagedForbidsThem) {
  Case given{.managed = at("managed.forbidden_profiles", {"install"}), .request = {{"profile", "install"}}};
  EXPECT_THAT(failure_of(given), HasSubstr("this profile is forbidden by managed.json"));
  given.request = {{"profile", "run"}};
  EXPECT_EQ(resolved(given).at("profile"), "run");
}

TEST(Profiles, ManagedFixesTheirContent) {
  const Settings settings = resolved({.user = at("profiles.install", at("network.mode", "full")),
                                      .managed = at("profiles.install", at("network.mode", "none")),
                                      .request = {{"profile", "install"}}});
  EXPECT_EQ(settings.at("network.mode"), "none");
  EXPECT_EQ(settings.origin("network.mode").source, "profile install (managed.json)");
}

}  // namespace
}  // namespace exechost::settings::test

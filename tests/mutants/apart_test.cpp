// A plugin that did not come with ExecHost runs in a keeper process of its own, also where the host's keeper is a
// thread of the host.
#include <filesystem>
#include <fstream>

#include "core/host/inspect.hpp"
#include "tests/mutants/scene.hpp"

namespace mutants {
namespace {

using exechost::ExecHost;
using exechost::ExecResult;
using exechost::FailureKind;
using exechost::Request;
using exechost::test::HostScene;
using exechost::test::shell;
using nlohmann::json;

class Apart : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = scene.problem(); !problem.empty()) GTEST_SKIP() << problem;
  }
  static Request in_mutant(const std::string& fault) {
    Request request = shell("echo here");
    request.settings_json = settings_for("mutant_direct", {{"fault", fault}}).dump();
    return request;
  }
  const MutantScene scene;  // its keeper is a thread of this process
};

TEST_F(Apart, ItsCrashIsOneFailedRun) {
  ExecHost host(scene.options);
  for (const char* fault : {"calls_exit", "throws_across_the_boundary"}) {
    const ExecResult result = host.run(in_mutant(fault));
    ASSERT_TRUE(result.failure) << fault << result.to_json();
    EXPECT_EQ(result.failure->kind,
              std::string(fault) == "calls_exit" ? FailureKind::plugin_crashed : FailureKind::protocol_error)
        << result.to_json();
  }
  EXPECT_EQ(host.run(in_mutant("none")).out.data, "here\n");
  Request own = shell("echo own");
  own.backend = "bwrap";
  EXPECT_EQ(host.run(own).out.data, "own\n");
}

TEST_F(Apart, AfterSeveralItIsHeldBackAndTheOthersAreNot) {
  ExecHost host(scene.options);
  FailureKind last = FailureKind::plugin_crashed;
  std::string message;
  for (int i = 0; i < 4 && last == FailureKind::plugin_crashed; ++i) {
    const ExecResult result = host.run(in_mutant("calls_exit"));
    ASSERT_TRUE(result.failure) << result.to_json();
    last = result.failure->kind;
    message = result.failure->message;
  }
  EXPECT_EQ(last, FailureKind::unavailable) << message;
  EXPECT_NE(message.find("crashed"), std::string::npos) << message;

  Request fallback = in_mutant("calls_exit");
  json settings = json::parse(fallback.settings_json);
  settings["fallback"] = {"bwrap"};
  settings["on_unavailable"] = "open";
  settings["network"] = {{"mode", "none"}};
  fallback.settings_json = settings.dump();
  const ExecResult elsewhere = host.run(fallback);
  EXPECT_EQ(elsewhere.backend, "bwrap") << elsewhere.to_json();
  EXPECT_EQ(elsewhere.out.data, "here\n");
}

TEST_F(Apart, WhatTheAdministratorHasPinnedIsNot) {
  std::string hash;
  {
    ExecHost host(scene.options);
    ASSERT_EQ(host.run(in_mutant("none")).out.data, "here\n");
    EXPECT_EQ(HostScene::children("exechost-keeper").size(), 1u);
    auto backends = exechost::host::inspect_backends(scene.options, in_mutant("none"), false);
    ASSERT_TRUE(backends);
    for (const auto& backend : *backends) {
      if (backend.found.id == "mutant_direct") hash = backend.found.sha256;
    }
  }
  ASSERT_EQ(hash.size(), 64u);
  EXPECT_EQ(HostScene::children("exechost-keeper").size(), 0u) << "it ends with its host";

  std::ofstream(scene.options.system_config_dir + "/settings.json")
      << json{{"plugins", {{"pinned", {{"mutant_direct", hash}}}}}}.dump();
  std::filesystem::permissions(scene.options.system_config_dir + "/settings.json",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ExecHost host(scene.options);
  const ExecResult result = host.run(in_mutant("none"));
  EXPECT_EQ(result.out.data, "here\n") << result.to_json();
  EXPECT_EQ(HostScene::children("exechost-keeper").size(), 0u);
}

}  // namespace
}  // namespace mutants

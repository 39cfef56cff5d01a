// The parts of the host that need no backend.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "core/host/inspect.hpp"
#include "core/host/installation.hpp"
#include "core/host/probe_cache.hpp"
#include "core/host/request_overrides.hpp"
#include "core/host/request_run.hpp"
#include "exechost_test_paths.hpp"
#include "host_support.hpp"

namespace exechost::host {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

TEST(RequestOverrides, FieldsAndDocumentBecomeOne) {
  Request request;
  request.settings_json = R"({"resources":{"memory":"512m"},"backend":"bwrap"})";
  request.backend = "bwrap";
  request.session = "s";
  request.timeout = 1500ms;
  const auto overrides = request_overrides(request);
  ASSERT_TRUE(overrides) << describe(overrides.error());
  EXPECT_EQ(*overrides, json::parse(R"({"backend":"bwrap","session":{"name":"s"},
                                        "resources":{"memory":"512m","timeout":"1500ms"}})"));
}

TEST(RequestOverrides, ContradictionsAreErrors) {
  Request request;
  request.settings_json = R"({"session":{"name":"one"}})";
  request.session = "other";
  EXPECT_THAT(request_overrides(request).error().message, ::testing::HasSubstr("/session/name"));
  request.settings_json = R"({"session":"one"})";
  EXPECT_EQ(request_overrides(request).error().kind, FailureKind::invalid_request);
  request.settings_json = R"({"backend":"a","backend":"b"})";
  EXPECT_FALSE(request_overrides(request)) << "a key twice";
}

// The table of the failure contract: where a second backend may be tried.
TEST(Fallback, OnlyFromFailuresThatStartedNothing) {
  ExecResult result;
  result.failure.emplace();
  const std::map<FailureKind, bool> table{
      {FailureKind::invalid_request, false},  {FailureKind::unsupported, false},   {FailureKind::unavailable, true},
      {FailureKind::provision_failed, true},  {FailureKind::spawn_failed, false},  {FailureKind::denied, false},
      {FailureKind::environment_lost, false}, {FailureKind::protocol_error, true}, {FailureKind::plugin_crashed, true}};
  for (const auto& [kind, allowed] : table) {
    result.failure->kind = kind;
    result.started = Started::no;
    EXPECT_EQ(allows_fallback(result), allowed) << to_string(kind);
    for (const Started started : {Started::yes, Started::unknown}) {
      result.started = started;
      EXPECT_FALSE(allows_fallback(result)) << to_string(kind);
    }
  }
  result.started = Started::no;
  result.failure->kind = FailureKind::unavailable;
  result.failure->step = "session_busy";
  EXPECT_FALSE(allows_fallback(result)) << "another place would not be that session";
  result.failure->step.clear();
  for (const Status status : {Status::timed_out, Status::cancelled, Status::exited}) {
    result.status = status;
    EXPECT_FALSE(allows_fallback(result));
  }
}

class ProbeCacheTest : public ::testing::Test {
 protected:
  ProbeCache::Outcome answer() {
    plan::Probe probe;
    probe.ready = ready;
    return probe;
  }
  std::future<ProbeCache::Outcome> begin() {
    ++probes;
    std::promise<ProbeCache::Outcome> promise;
    if (probes <= crashes) {
      Failure failure;
      failure.kind = FailureKind::plugin_crashed;
      promise.set_value(unexpected(failure));
    } else {
      promise.set_value(answer());
    }
    return promise.get_future();
  }
  keeper::PluginChoice choice(const std::string& id, json settings = json::object()) {
    keeper::PluginChoice made;
    made.id = id;
    made.settings = std::move(settings);
    return made;
  }
  std::atomic<int> probes{0};
  int crashes = 0;
  bool ready = true;
  ProbeCache cache{[this](const keeper::PluginChoice&) { return begin(); }};
};

TEST_F(ProbeCacheTest, GoodNewsIsRememberedPerBackendAndSettings) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cache.get({choice("a")})[0]->ready);
  EXPECT_EQ(probes, 1);
  cache.get({choice("a", {{"path", "/x"}})});
  EXPECT_EQ(probes, 2);
  EXPECT_EQ(cache.get({choice("a"), choice("b")}).size(), 2u);
  EXPECT_EQ(probes, 3);
}

TEST_F(ProbeCacheTest, BadNewsIsAskedAgain) {
  ready = false;
  EXPECT_FALSE(cache.get({choice("a")})[0]->ready);
  ready = true;
  EXPECT_TRUE(cache.get({choice("a")})[0]->ready);
  EXPECT_EQ(probes, 2);
}

TEST_F(ProbeCacheTest, ACrashIsTriedOnceMore) {
  crashes = 1;
  EXPECT_TRUE(cache.get({choice("a")})[0]);
  EXPECT_EQ(probes, 2);
  probes = 0;
  crashes = 100;
  const auto outcomes = cache.get({choice("b")});
  ASSERT_FALSE(outcomes[0]);
  EXPECT_EQ(outcomes[0].error().kind, FailureKind::plugin_crashed);
  EXPECT_EQ(probes, 2);
}

TEST(ProbeCacheThreads, ManyAskersMakeOneProbe) {
  std::promise<ProbeCache::Outcome> slow;
  std::atomic<int> probes{0};
  ProbeCache cache([&](const keeper::PluginChoice&) {
    ++probes;
    return slow.get_future();
  });
  std::vector<std::thread> askers;
  std::atomic<int> ready{0};
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&] {
      keeper::PluginChoice choice;
      choice.id = "a";
      if (cache.get({choice})[0]->ready) ++ready;
    });
  }
  plan::Probe probe;
  probe.ready = true;
  slow.set_value(probe);
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(ready, 8);
  EXPECT_EQ(probes, 1);
}

TEST(Installation, IsTheBuildTreeWhenNamedAndMissingElsewhere) {
  const auto found = find_installation(EXECHOST_BUILD_PREFIX);
  ASSERT_TRUE(found) << describe(found.error());
  EXPECT_EQ(found->guest_program, std::string(EXECHOST_BUILD_PREFIX) + "/libexec/exechost/exechost-guest");
  const auto missing = find_installation("/usr/share");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, FailureKind::unavailable);
  EXPECT_THAT(missing.error().message, ::testing::HasSubstr("exechost-guest"));
}

TEST(Inspect, SchemasAreJsonAndUnknownNamesListThem) {
  for (const std::string_view name : schema_names()) {
    const auto text = schema_text(name);
    ASSERT_TRUE(text) << name;
    EXPECT_TRUE(json::accept(*text)) << name;
  }
  EXPECT_EQ(schema_names().size(), 5u);
  EXPECT_THAT(schema_text("nothing").error().hint, ::testing::HasSubstr("capability"));
}

TEST(Inspect, SettingsRememberWhereTheyCameFrom) {
  const test::HostScene scene(KeeperPlacement::in_process);
  Request request;
  request.backend = "bwrap";
  request.timeout = 5s;
  request.settings_origins = {{"/backend", "--backend"}};
  const auto settings = inspect_settings(scene.options, request);
  ASSERT_TRUE(settings) << describe(settings.error());
  EXPECT_EQ(settings->origin("backend").source, "--backend");
  EXPECT_EQ(settings->origin("resources.timeout").source, "request");
  EXPECT_EQ(settings->at("resources.timeout"), 5000);
}

TEST(Inspect, BackendsWithoutProbesRunNoPluginCode) {
  const test::HostScene scene(KeeperPlacement::in_process);
  const auto backends = inspect_backends(scene.options, Request{}, false);
  ASSERT_TRUE(backends) << describe(backends.error());
  for (const auto& backend : *backends) EXPECT_FALSE(backend.probe);
  EXPECT_EQ(scene.ledger_entries(), 0u);
}

}  // namespace
}  // namespace exechost::host

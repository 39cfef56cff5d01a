// Random requests: what must hold for each of them.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

using nlohmann::json;

constexpr int kRequests = 3000;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  bool chance(int percent) { return below(100) < percent; }
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(engine_); }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  std::mt19937 engine_;
};

const std::map<std::string, std::string>& capability_of() {
  static const std::map<std::string, std::string> table{{"image", "image"},
                                                        {"resources.cpu", "cpu"},
                                                        {"resources.memory", "memory"},
                                                        {"resources.disk", "disk"},
                                                        {"session.persistent", "persistent"},
                                                        {"session.name", "persistent"}};
  return table;
}

Planned random_request(Dice& dice) {
  Planned planned;
  planned.machine.folder("/srv/a/b/c")
      .folder("/srv/d")
      .folder("/home/u/.ssh")
      .folder("/home/u/ws/x/y")
      .folder("/home/u/.config/exechost");
  planned.machine.file("/home/u/ws/x/f")
      .link("/home/u/ws/l", "/srv/d")
      .link("/srv/l", "/home/u/.ssh")
      .folder("/home/u/.nvm");
  planned.machine.facts.own_paths = {"/home/u/.config/exechost"};
  planned.machine.facts.credential_paths = {"/home/u/.ssh"};
  planned.machine.facts.toolchain_paths = {"/home/u/.nvm"};
  planned.machine.facts.uid = dice.chance(50) ? 0 : 1000;
  for (const char* id : {"second", "third"}) {
    planned.backends.push_back(bwrap());
    planned.backends.back().id = id;
  }
  for (BackendFacts& backend : planned.backends) {
    for (const std::string_view name : capability_names()) {
      if (dice.chance(50)) grant(backend, std::string(name), static_cast<Grade>(dice.below(5)));
    }
    if (dice.chance(15)) backend.probe->ready = false;
    if (dice.chance(5)) backend.probe.reset();
  }
  const std::vector<json> paths{"/",         "/srv", "/srv/a", "/srv/a/b/c", "/srv/l", "~",    "~/.ssh",
                                "~/.config", "x",    "x/y",    "x/f",        "l",      "none", "/tmp"};
  for (const char* list :
       {"filesystem.allow_write", "filesystem.deny_write", "filesystem.allow_read", "filesystem.deny_read"}) {
    if (!dice.chance(40)) continue;
    json chosen = json::array();
    for (int i = dice.below(4); i >= 0; --i) chosen.push_back(dice.pick(paths));
    planned.settings.set(list, chosen);
  }
  const auto maybe = [&](const char* name, json value) {
    if (dice.chance(20)) planned.settings.set(name, std::move(value));
  };
  maybe("image", "debian:12");
  maybe("resources.cpu", 1.5);
  maybe("resources.memory", 1 << 20);
  maybe("resources.disk", 1 << 20);
  maybe("resources.pids", 10);
  maybe("session.persistent", true);
  maybe("session.name", "s");
  maybe("network.mode", dice.pick(std::vector<json>{"none", "filtered", "full"}));
  maybe("network.allowed_domains", {"example.com"});
  maybe("on_unavailable", dice.pick(std::vector<json>{"open", "ask", "closed"}));
  maybe("fallback", {"second", "third", "local"});
  maybe("filesystem.workspace_access", "ro");
  maybe("filesystem.home", dice.pick(std::vector<json>{"hidden", "toolchains", "read"}));
  return planned;
}

Statement chosen_statement(const Planned& planned, const Plan& plan) {
  for (const BackendFacts& backend : planned.backends) {
    if (backend.id == plan.backend) return combine(backend.statement, *backend.probe);
  }
  ADD_FAILURE() << "the chosen backend is not one of those given";
  return {};
}

void check_promises(const Planned& planned, const Plan& plan) {
  const settings::Settings settings = planned.settings.build();
  const Statement statement = chosen_statement(planned, plan);
  for (const auto& [setting, capability] : capability_of()) {
    if (settings.requested(setting)) {
      EXPECT_GE(statement.capability(capability).grade, Grade::emulated) << setting;
    }
  }
  EXPECT_GE(statement.capability("files").grade, Grade::emulated);
  EXPECT_GE(statement.capability("network." + plan.network.mode).grade, Grade::emulated);
  for (const SettingReport& report : plan.settings) {
    if (report.requested == "null" || report.name == "network.mode" || report.name == "network.allowed_domains")
      continue;
    EXPECT_EQ(report.requested, report.effective) << report.name;
    EXPECT_GE(grade_from(report.grade), Grade::emulated) << report.name;
  }
  if (plan.network.mode != "none") {
    EXPECT_EQ("\"" + plan.network.mode + "\"", settings.at("network.mode").dump());
  }
}

void check_view(const Planned& planned, const Plan& plan) {
  const settings::Settings settings = planned.settings.build();
  const View& view = plan.view;
  std::string last;
  for (const ViewEntry& entry : view.entries) {
    EXPECT_LE(std::count(last.begin(), last.end(), '/'), std::count(entry.path.begin(), entry.path.end(), '/'))
        << entry.path;
    if (entry.path != "/") last = entry.path;
  }
  EXPECT_NE(view.deciding("/home/u/.config/exechost/settings.json")->access, Access::rw);
  for (const json& given : settings.at("filesystem.deny_write")) {
    const auto path = given.get<std::string>();
    if (path.starts_with('/')) {
      EXPECT_NE(view.deciding(path)->access, Access::rw) << path;
    }
  }
  if (settings.at("filesystem.allow_write").empty() && settings.at("filesystem.workspace_access") == "ro") {
    for (const ViewEntry& entry : view.entries) EXPECT_NE(entry.access, Access::rw) << entry.path;
  }
}

TEST(RandomRequests, KeepEveryPromise) {
  int planned_count = 0;
  for (unsigned seed = 0; seed < kRequests; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Planned planned = random_request(dice);
    const auto plan = planned.plan();
    if (!plan) {
      EXPECT_EQ(plan.error().phase, Phase::plan);
      EXPECT_FALSE(plan.error().message.empty());
      continue;
    }
    ++planned_count;
    check_promises(planned, *plan);
    check_view(planned, *plan);
    const auto again = planned.plan();
    ASSERT_TRUE(again);
    EXPECT_EQ(to_json(*again), to_json(*plan)) << "planning is a pure function";
    if (HasFailure()) return;
  }
  EXPECT_GT(planned_count, kRequests / 20) << "too few requests were planned for this to mean anything";
}

}  // namespace
}  // namespace exechost::plan::testing

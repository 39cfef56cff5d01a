// The documents and their schemas say the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "core/settings/json_schema.hpp"
#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

using nlohmann::json;

json schema_document(const std::string& name) {
  std::ifstream file(fmt::format("{}/{}.schema.json", EXECHOST_SCHEMAS, name));
  return json::parse(file);
}

settings::JsonSchema compiled(const std::string& name) {
  auto schema = settings::JsonSchema::compile(schema_document(name));
  EXPECT_TRUE(schema) << name << ": " << (schema ? "" : settings::describe(schema.error()));
  return *schema;
}

std::string issues(const settings::JsonSchema& schema, const json& document) {
  std::string all;
  for (const settings::SchemaIssue& issue : schema.validate(document)) all += settings::describe(issue) + "\n";
  return all;
}

std::vector<Plan> many_plans() {
  std::vector<Plan> plans;
  const auto add = [&](auto change) {
    Planned planned;
    change(planned);
    auto plan = planned.plan();
    ASSERT_TRUE(plan) << plan.error().message;
    plans.push_back(std::move(*plan));
  };
  add([](Planned&) {});
  add([](Planned& planned) { planned.request.argv = {"\xff"}; });
  add([](Planned& planned) {
    grant(planned.backends[0], "cpu", Grade::kernel);
    grant(planned.backends[0], "memory", Grade::emulated);
    grant(planned.backends[0], "image", Grade::provider);
    planned.settings.set("resources.cpu", 0.5)
        .set("resources.memory", 1000)
        .set("image", "debian")
        .set("resources.timeout", 1000);
    planned.request.tty = true;
    planned.request.env = {{"A", "1"}};
  });
  add([](Planned& planned) {
    planned.backends[0].probe->ready = false;
    planned.backends.push_back(bwrap());
    planned.backends.back().id = "second";
    planned.backends.back().library_sha256.clear();
    planned.backends.back().statement.guest = GuestEntry::none;
    grant(planned.backends.back(), "network.filtered", Grade::emulated);
    planned.settings.set("fallback", {"second", "none"}).set("on_unavailable", "open");
    planned.settings.set("network.mode", "filtered").set("network.allowed_domains", {"example.com"});
  });
  add([](Planned& planned) {
    planned.machine.folder("/srv/T");
    planned.settings.set("filesystem.deny_read", {"/"}).set("filesystem.allow_read", {"/bin", "/usr", "/srv/T"});
  });
  return plans;
}

TEST(Schemas, AcceptEveryPlanAndOpenDocument) {
  const settings::JsonSchema plan_schema = compiled("plan");
  const settings::JsonSchema open_schema = compiled("open");
  const std::vector<Plan> plans = many_plans();
  ASSERT_EQ(plans.size(), 5U);
  for (const Plan& plan : plans) {
    EXPECT_EQ(issues(plan_schema, to_json(plan)), "");
    EXPECT_EQ(issues(open_schema, open_document(plan, {"id", "name", {{"a", "b"}}, 5, "/guest"})), "");
  }
}

TEST(Schemas, RefuseWhatIsNotOne) {
  const settings::JsonSchema plan_schema = compiled("plan");
  const settings::JsonSchema open_schema = compiled("open");
  const json plan = to_json(many_plans().front());
  const json open = open_document(many_plans().front(), {"id", "name", {}, 5, "/guest"});
  for (const auto& [name, value] : plan.items()) {
    json broken = plan;
    broken.erase(name);
    EXPECT_NE(issues(plan_schema, broken), "") << name;
    broken[name] = json::array({json::object()});
    if (name != "view") {
      EXPECT_NE(issues(plan_schema, broken), "") << name;
    }
  }
  for (const auto& [name, value] : open.items()) {
    json broken = open;
    broken.erase(name);
    EXPECT_NE(issues(open_schema, broken), "") << name;
  }
  json more = plan;
  more["surprise"] = 1;
  EXPECT_NE(issues(plan_schema, more), "");
}

TEST(Schemas, CapabilityNamesAreTheOnesInTheCode) {
  const json schema = schema_document("capability");
  std::vector<std::string> names;
  for (const auto& [name, value] : schema["properties"]["capabilities"]["properties"].items()) names.push_back(name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(capability_names()));
}

TEST(Schemas, AcceptEveryStatement) {
  const settings::JsonSchema schema = compiled("capability");
  EXPECT_EQ(issues(schema, to_json(bwrap().statement)), "");
  EXPECT_EQ(issues(schema, to_json(combine(bwrap().statement, *bwrap().probe))), "");
  EXPECT_NE(issues(schema, json::object()), "");
}

}  // namespace
}  // namespace exechost::plan::testing

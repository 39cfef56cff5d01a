// Each tests/data/plan/NAME.json is a request with its settings, machine and backends; what planning
// makes of it is in NAME.plan.json, NAME.open.json and NAME.txt. EXECHOST_ACCEPT_GOLDENS=1 writes
// them anew, to be reviewed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/base64.hpp"
#include "exechost_test_paths.hpp"
#include "tests/unit/plan/support.hpp"

namespace exechost::plan::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path data_folder() { return fs::path(EXECHOST_TEST_DATA) / "plan"; }

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(data_folder())) {
    const fs::path& path = entry.path();
    if (path.extension() == ".json" && path.stem().extension().empty()) names.push_back(path.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

settings::Scope scope_from(const std::string& name) {
  for (const settings::Scope scope :
       {settings::Scope::system, settings::Scope::user, settings::Scope::project, settings::Scope::profile,
        settings::Scope::environment, settings::Scope::managed}) {
    if (settings::to_string(scope) == name) return scope;
  }
  return settings::Scope::request;
}

const json& member(const json& object, const char* name) {
  static const json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

void read_machine(const json& input, FakeMachine& machine) {
  for (const json& path : member(input, "folders")) machine.folder(path.get<std::string>());
  for (const json& path : member(input, "files")) machine.file(path.get<std::string>());
  for (const auto& [path, target] : member(input, "links").items()) machine.link(path, target.get<std::string>());
  Facts& facts = machine.facts;
  facts.uid = input.value("uid", facts.uid);
  facts.home = input.value("home", facts.home);
  facts.workspace = input.value("workspace", facts.workspace);
  facts.landlock_abi = input.value("landlock_abi", facts.landlock_abi);
  facts.environment = input.value("environment", facts.environment);
  facts.toolchain_paths = input.value("toolchains", facts.toolchain_paths);
  facts.credential_paths = input.value("credentials", facts.credential_paths);
  facts.own_paths = input.value("own", facts.own_paths);
  facts.own_private_paths = input.value("own_private", facts.own_private_paths);
}

void read_backends(const json& input, Planned& planned) {
  for (const json& item : input) {
    BackendFacts backend = bwrap();
    backend.id = backend.statement.backend = item.at("id");
    backend.library = fmt::format("/usr/lib/exechost/plugins/{}.so", backend.id);
    backend.probe->ready = item.value("ready", true);
    backend.probe->reason = item.value("reason", "");
    backend.probe->hint = item.value("hint", "");
    for (const auto& [name, grade] : member(item, "capabilities").items()) {
      grant(backend, name, grade_from(grade.get<std::string>()));
    }
    planned.backends.push_back(std::move(backend));
  }
}

Planned read_case(const std::string& name) {
  const json input = json::parse(read(data_folder() / (name + ".json")));
  Planned planned;
  const json request = input.value("request", json::object());
  if (request.contains("argv")) planned.request.argv = request["argv"].get<std::vector<std::string>>();
  if (request.contains("argv_base64")) {
    planned.request.argv.clear();
    for (const json& argument : request["argv_base64"])
      planned.request.argv.push_back(base64_decode(argument.get<std::string>()).value());
  }
  if (request.contains("shell")) {
    planned.request.argv.clear();
    planned.request.shell = request["shell"];
  }
  if (request.contains("cwd")) planned.request.cwd = request["cwd"];
  planned.request.env = request.value("env", std::map<std::string, std::string>{});
  planned.request.tty = request.value("tty", false);
  for (const json& item : member(input, "settings")) {
    planned.settings.set(item.at("name"), item.at("value"), scope_from(item.value("scope", "request")));
  }
  read_machine(input.value("machine", json::object()), planned.machine);
  if (input.contains("backends")) {
    planned.backends.clear();
    read_backends(input["backends"], planned);
  }
  planned.backends.push_back(local());
  return planned;
}

std::map<std::string, std::string> outcome(const std::string& name) {
  const auto plan = read_case(name).plan();
  if (!plan) {
    const json failure{{"kind", std::string(to_string(plan.error().kind))},
                       {"message", plan.error().message},
                       {"hint", plan.error().hint},
                       {"backend", plan.error().backend}};
    return {{".plan.json", failure.dump(1) + "\n"}, {".txt", describe(plan.error()) + "\n"}};
  }
  const OpenIdentity identity{"0123456789abcdef0123456789abcdef",
                              "exechost-0123456789abcdef",
                              {{"exechost.id", "0123456789abcdef"}},
                              INT64_MAX,
                              "/usr/libexec/exechost/exechost-guest"};
  return {{".plan.json", to_json(*plan).dump(1) + "\n"},
          {".open.json", open_document(*plan, identity).dump(1) + "\n"},
          {".txt", to_text(*plan)}};
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, PlanIsTheOneReviewed) {
  const std::map<std::string, std::string> actual = outcome(GetParam());
  if (std::getenv("EXECHOST_ACCEPT_GOLDENS") != nullptr) {
    for (const auto& [suffix, text] : actual) std::ofstream(data_folder() / (GetParam() + suffix)) << text;
    GTEST_SKIP() << "goldens were written, not compared";
  }
  for (const auto& [suffix, text] : actual)
    EXPECT_EQ(read(data_folder() / (GetParam() + suffix)), text) << GetParam() << suffix;
}

INSTANTIATE_TEST_SUITE_P(Data, Golden, ::testing::ValuesIn(cases()), [](const auto& test) { return test.param; });

TEST(GoldenData, Exists) { EXPECT_GE(cases().size(), 10U); }

}  // namespace
}  // namespace exechost::plan::testing

// With fault "none" a mutant is a correct backend, and every fault can be chosen. That a checker
// catches each of them is the checker's test.
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/host/inspect.hpp"
#include "core/plugin/loader.hpp"
#include "core/plugin/manifest.hpp"
#include "tests/mutants/faults.hpp"
#include "tests/mutants/scene.hpp"
#include "tests/mutants/variant.hpp"
#include "tests/unit/plugin/small_host.hpp"

namespace mutants {
namespace {

using exechost::ExecResult;
using exechost::Request;
using exechost::Status;
using exechost::test::HostScene;
using exechost::test::shell;
using nlohmann::json;

constexpr const char* kFolder = EXECHOST_MUTANT_FOLDER;

const std::map<std::string, Needs> kVariants{{"mutant", Needs::any},
                                             {"mutant_direct", Needs::no_guest},
                                             {"mutant_limits", Needs::limits},
                                             {"mutant_offline", Needs::offline},
                                             {"mutant_persistent", Needs::persistent},
                                             {"mutant_lax", Needs::open_schema}};

class MutantsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string problem = scene.problem(); !problem.empty()) GTEST_SKIP() << problem;
  }
  ExecResult run(const Request& request, json own = {{"fault", "none"}}) const {
    return scene.run(GetParam(), request, std::move(own));
  }

  const MutantScene scene;
};

INSTANTIATE_TEST_SUITE_P(Variants, MutantsTest,
                         ::testing::Values("mutant", "mutant_direct", "mutant_limits", "mutant_offline",
                                           "mutant_persistent", "mutant_lax"),
                         [](const auto& entry) { return entry.param; });

class MutantsRun : public MutantsTest {};
INSTANTIATE_TEST_SUITE_P(Variants, MutantsRun,
                         ::testing::Values("mutant_direct", "mutant_limits", "mutant_offline", "mutant_persistent",
                                           "mutant_lax"),
                         [](const auto& entry) { return entry.param; });

TEST_P(MutantsRun, WithoutAFaultACommandIsExact) {
  Request request;
  request.argv = {"echo", "a  b", "", "c"};
  const ExecResult result = run(request);
  EXPECT_EQ(result.status, Status::exited) << result.to_json();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.data, "a  b  c\n");
  EXPECT_EQ(result.err.data, "");
  EXPECT_EQ(result.backend, GetParam());
}

TEST_P(MutantsRun, WithoutAFaultEndsAreTold) {
  EXPECT_EQ(run(shell("echo wrong >&2; exit 200")).exit_code, 200);
  EXPECT_EQ(run(shell("kill -9 $$")).signal_number, SIGKILL);
  Request request;
  request.argv = {"/no/such/program"};
  const ExecResult result = run(request);
  ASSERT_TRUE(result.failure) << result.to_json();
  EXPECT_EQ(result.failure->kind, exechost::FailureKind::spawn_failed);
  EXPECT_EQ(result.failure->error_number, ENOENT);
}

TEST_P(MutantsRun, WithoutAFaultNothingIsLeft) {
  const std::string mark = "4712" + std::to_string(::getpid());
  Request request = shell("setsid sleep " + mark + " & cat; echo done");
  request.standard_input.kind = exechost::StdinSource::Kind::bytes;
  request.standard_input.bytes = "input\n";
  EXPECT_EQ(run(request).out.data, "input\ndone\n");
  EXPECT_FALSE(HostScene::runs(mark));
  request = shell("setsid sleep " + mark + " & sleep " + mark);
  request.timeout = std::chrono::milliseconds(1500);
  const ExecResult result = run(request);
  EXPECT_EQ(result.status, Status::timed_out) << result.to_json();
  EXPECT_FALSE(HostScene::runs(mark));
}

TEST_P(MutantsRun, WithoutAFaultItsResourceIsThereWhileItIsOpen) {
  const std::string folder = scene.folder + "/resources";
  std::filesystem::create_directory(folder);
  const json own{{"fault", "none"}, {"resource_folder", folder}};
  const ExecResult result = run(shell("ls " + folder + " | wc -l"), own);
  EXPECT_EQ(result.out.data, "1\n") << result.to_json();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

// What the plan hides is there to see in a plain process; that was accepted with best_effort.
TEST(MutantGuest, RunsWhereNothingIsHidden) {
  const MutantScene scene;
  if (const std::string problem = scene.problem(); !problem.empty()) GTEST_SKIP() << problem;
  const ExecResult result = scene.run("mutant", shell("echo here"), {{"fault", "none"}});
  EXPECT_EQ(result.out.data, "here\n") << result.to_json();
}

// One backend for each fault that shows in this variant.
TEST_P(MutantsTest, EveryFaultCanBeChosen) {
  const Variant variant{GetParam(), "", kVariants.at(GetParam()), ""};
  exechost::plugin::Found found;
  found.id = GetParam();
  found.library = std::string(kFolder) + '/' + GetParam() + ".so";
  found.manifest_path = std::string(kFolder) + '/' + GetParam() + ".json";
  found.manifest = exechost::plugin::read_manifest(found.manifest_path).value();
  const auto loaded = exechost::plugin::load_plugin(found);
  ASSERT_TRUE(loaded) << describe(loaded.error());
  exechost::test::SmallHost host;
  for (const FaultInfo& info : kFaults) {
    const std::string own = json{{"fault", info.name}, {"resource_folder", ""}}.dump();
    const eh_backend* backend = nullptr;
    exechost::plugin::Call call(GetParam(), exechost::Phase::provision, {});
    const auto outcome =
        call.finish((*loaded)->table()->create(host.table(), exechost::plugin::to_eh(own), call.call(), &backend));
    if (variant.has(info.needs)) {
      ASSERT_EQ(outcome.status, EH_OK) << info.name << describe(outcome.failure);
      backend->destroy(backend->self);
    } else {
      EXPECT_EQ(outcome.failure.kind, exechost::FailureKind::invalid_request) << info.name;
    }
  }
}

TEST_P(MutantsTest, ItsManifestListsEveryFault) {
  std::ifstream file(std::string(kFolder) + '/' + GetParam() + ".json");
  const json manifest = json::parse(file);
  std::set<std::string> listed;
  for (const json& name : manifest["settings_schema"]["properties"]["fault"]["enum"]) listed.insert(name);
  std::set<std::string> known;
  for (const FaultInfo& info : kFaults) known.emplace(info.name);
  EXPECT_EQ(listed, known);
  EXPECT_GE(known.size(), 31U) << "thirty faults, and none";
}

TEST(Mutants, OneOfThemTakesUnknownSettings) {
  const MutantScene scene;
  Request request;
  request.settings_json = settings_for("mutant_lax", {{"no_such_setting", 1}}).dump();
  EXPECT_TRUE(exechost::host::inspect_backends(scene.options, request, false));
  request.settings_json = settings_for("mutant", {{"no_such_setting", 1}}).dump();
  EXPECT_FALSE(exechost::host::inspect_backends(scene.options, request, false));
}

}  // namespace
}  // namespace mutants

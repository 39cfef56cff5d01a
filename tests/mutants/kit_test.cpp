// The conformance kit catches every mutant, and nothing in a correct backend.
#include <fmt/format.h>

#include <ostream>
#include <set>

#include "core/conformance/conformance.hpp"
#include "core/conformance/report.hpp"
#include "exechost_test_paths.hpp"
#include "tests/mutants/scene.hpp"

namespace mutants {
namespace {

using exechost::conformance::Options;
using exechost::conformance::Report;
using exechost::conformance::run_kit;
using exechost::conformance::Scratch;
using exechost::conformance::Verdict;
using nlohmann::json;

constexpr const char* kFolder = EXECHOST_MUTANT_FOLDER;

// A fault, a variant that has it, and the check that has to see it.
struct Caught {
  const char* fault;
  const char* variant;
  const char* check;
};
void PrintTo(const Caught& caught, std::ostream* stream) { *stream << caught.fault; }

const Caught kCaught[]{Caught{"ignores_kill", "mutant", "tree.stopped_guest"},
                       Caught{"leaks_grandchildren", "mutant_direct", "tree.exit"},
                       Caught{"leaks_setsid_children", "mutant_direct", "tree.exit"},
                       Caught{"leaks_after_timeout", "mutant_direct", "tree.timeout"},
                       Caught{"kills_other_commands", "mutant_direct", "environment.kill"},
                       Caught{"ignores_signals", "mutant_direct", "signals"},
                       Caught{"merges_stderr", "mutant_direct", "streams.apart"},
                       Caught{"swaps_streams", "mutant_direct", "streams.apart"},
                       Caught{"drops_last_buffer", "mutant_direct", "streams.end"},
                       Caught{"truncates_at_64k", "mutant_direct", "streams.end"},
                       Caught{"adds_newline", "mutant_direct", "streams.bytes"},
                       Caught{"converts_crlf", "mutant_direct", "streams.bytes"},
                       Caught{"stops_at_nul", "mutant_direct", "streams.bytes"},
                       Caught{"swallows_stdin_eof", "mutant_direct", "streams.bytes"},
                       Caught{"ignores_stdin", "mutant_direct", "streams.bytes"},
                       Caught{"closes_stdin_early", "mutant_direct", "stdin.large"},
                       Caught{"holds_stdout_open", "mutant_direct", "exec.runs"},
                       Caught{"leaks_descriptors", "mutant_direct", "exec.descriptors"},
                       Caught{"ignores_cwd", "mutant_direct", "exec.cwd"},
                       Caught{"ignores_environment", "mutant_direct", "environment.exact"},
                       Caught{"adds_environment", "mutant_direct", "environment.exact"},
                       Caught{"splits_arguments_on_spaces", "mutant_direct", "arguments.bytes"},
                       Caught{"drops_empty_arguments", "mutant_direct", "arguments.bytes"},
                       Caught{"joins_arguments_by_shell", "mutant_direct", "arguments.bytes"},
                       Caught{"forgets_max_args", "mutant_direct", "arguments.many"},
                       Caught{"reruns_on_failure", "mutant_direct", "exec.once"},
                       Caught{"off_by_one_exit_code", "mutant_direct", "exec.exit_codes"},
                       Caught{"exit_code_mod_128", "mutant_direct", "exec.exit_codes"},
                       Caught{"hides_signal_deaths", "mutant_direct", "exec.signals"},
                       Caught{"reports_signal_deaths_as_success", "mutant_direct", "exec.signals"},
                       Caught{"spawn_failure_as_127", "mutant_direct", "exec.missing_program"},
                       Caught{"double_started_event", "mutant_direct", "exec.runs"},
                       Caught{"ended_before_output", "mutant_direct", "exec.end"},
                       Caught{"never_readable_event_fd", "mutant_direct", "exec.runs"},
                       Caught{"lies_about_memory", "mutant_limits", "limits.memory"},
                       Caught{"rounds_cpu_to_zero", "mutant_limits", "limits.cpu"},
                       Caught{"lies_about_network", "mutant_offline", "isolation.network"},
                       Caught{"loses_environment_after_first_command", "mutant_persistent", "environment.commands"},
                       Caught{"ignores_cancel", "mutant_direct", "environment.cancel"},
                       Caught{"ignores_deadline", "mutant_direct", "deadline.anywhere"},
                       Caught{"blocks_for_ever", "mutant_direct", "exec.runs"},
                       Caught{"leaks_resource_when_open_fails", "mutant_direct", "environment.list"},
                       Caught{"close_not_idempotent", "mutant_direct", "environment.list"},
                       Caught{"reap_does_nothing", "mutant_direct", "recovery.keeper"},
                       Caught{"list_is_empty", "mutant_persistent", "environment.list"},
                       Caught{"probe_leaves_resource", "mutant_direct", "environment.list"},
                       Caught{"writes_past_its_struct", "mutant_direct", "exec.runs"},
                       Caught{"throws_across_the_boundary", "mutant_direct", "exec.runs"},
                       Caught{"fails_without_report", "mutant_direct", "exec.runs"},
                       Caught{"unlisted_status", "mutant_direct", "exec.runs"},
                       Caught{"calls_exit", "mutant_direct", "exec.runs"},
                       Caught{"crashes_in_close", "mutant_direct", "environment.commands"},
                       Caught{"changes_directory", "mutant_direct", "environment.process"},
                       Caught{"accepts_unknown_settings", "mutant_lax", "settings.unknown"}};

Options options_for(const std::string& variant, const std::string& fault, const std::string& resources) {
  Options options;
  options.subject.library = fmt::format("{}/{}.so", kFolder, variant);
  options.subject.settings = {{"fault", fault}, {"resource_folder", resources}};
  options.subject.prefix = EXECHOST_BUILD_PREFIX;
  options.subject.exechost_program = std::string(EXECHOST_BUILD_PREFIX) + "/bin/exechost";
  options.subject.time = std::chrono::seconds(10);
  return options;
}

class KitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = MutantScene().problem(); !problem.empty()) GTEST_SKIP() << problem;
    auto made = Scratch::make();
    ASSERT_TRUE(made) << describe(made.error());
    folder_.emplace(std::move(*made));
  }
  std::string resources() const { return folder_->outside(); }
  std::string clean_resources() const { return folder_->workspace(); }
  std::optional<Scratch> folder_;
};

class KitCatches : public KitTest, public ::testing::WithParamInterface<Caught> {};

INSTANTIATE_TEST_SUITE_P(Mutants, KitCatches, ::testing::ValuesIn(kCaught),
                         [](const auto& entry) { return std::string(entry.param.fault); });

TEST_P(KitCatches, TheFault) {
  const auto& [fault, variant, check] = GetParam();
  Options options = options_for(variant, fault, resources());
  options.only = {check};
  const auto report = run_kit(options);
  if (!report) return;  // not even loadable: caught as well
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings.front().verdict.kind, Verdict::Kind::failed) << to_json(*report).dump(1);
  EXPECT_FALSE(report->findings.front().verdict.why.empty());

  // The same check says nothing of a backend without the fault. (That one is in the manifest.)
  if (std::string(fault) == "accepts_unknown_settings") return;
  options = options_for(variant, "none", clean_resources());
  options.only = {check};
  const auto correct = run_kit(options);
  ASSERT_TRUE(correct) << describe(correct.error());
  EXPECT_EQ(correct->findings.front().verdict.kind, Verdict::Kind::passed) << to_json(*correct).dump(1);
}

TEST(KitTable, NamesEveryFault) {
  std::set<std::string> missing;
#define FAULT(name, needs, what) missing.insert(#name);
#include "tests/mutants/faults.def"
#undef FAULT
  missing.erase("none");
  for (const Caught& caught : kCaught) missing.erase(caught.fault);
  EXPECT_EQ(missing, std::set<std::string>{});
}

TEST_F(KitTest, ACorrectBackendFailsNothing) {
  const auto report = run_kit(options_for("mutant_direct", "none", resources()));
  ASSERT_TRUE(report) << describe(report.error());
  EXPECT_EQ(report->count(Verdict::Kind::failed), 0u) << to_json(*report).dump(1);
  EXPECT_EQ(report->level(), exechost::conformance::Level::recovery);
}

}  // namespace
}  // namespace mutants

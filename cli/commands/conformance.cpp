#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/repeated_option.hpp"
#include "cli/setting_overrides.hpp"
#include "cli/signal_watcher.hpp"
#include "cli/stop_on_signal.hpp"
#include "core/conformance/conformance.hpp"
#include "core/conformance/report.hpp"
#include "core/plan/capability.hpp"

namespace exechost::cli {
namespace {

namespace fs = std::filesystem;
using conformance::Finding;
using conformance::Verdict;

constexpr int kHighestLevel = 4;
// From the first signal to an end without clearing up.
constexpr std::chrono::milliseconds kGrace{30'000};

std::string line_of(const Finding& finding) {
  const char* const word = finding.verdict.kind == Verdict::Kind::passed   ? "ok"
                           : finding.verdict.kind == Verdict::Kind::failed ? "FAIL"
                                                                           : "unchecked";
  std::string line =
      fmt::format("{:<9}  L{}  {:<24} {}\n", word, static_cast<int>(finding.level), finding.name, finding.title);
  if (!finding.verdict.why.empty()) line += fmt::format("{:<15}{}\n", "", finding.verdict.why);
  return line;
}

// Of some checks alone a level says nothing.
std::string summary_of(const conformance::Report& report, bool whole) {
  const auto level = report.level();
  if (!whole) {
    return fmt::format("\n{}, the chosen checks: {} passed, {} failed, {} unchecked\n", report.backend,
                       report.count(Verdict::Kind::passed), report.count(Verdict::Kind::failed),
                       report.count(Verdict::Kind::unchecked));
  }
  return fmt::format("\n{}, {}, for what it claims: {} passed, {} failed, {} unchecked\n", report.backend,
                     level ? to_string(*level) : "no level", report.count(Verdict::Kind::passed),
                     report.count(Verdict::Kind::failed), report.count(Verdict::Kind::unchecked));
}

class ConformanceCommand final : public Command {
 public:
  std::string name() const override { return "conformance"; }
  std::string summary() const override { return "Check that a backend plugin does what it claims"; }
  std::string examples() const override {
    return "  exechost conformance ./build/box.so\n"
           "  exechost conformance ./build/box.so --level 1\n"
           "  exechost conformance ./build/box.so --settings '{\"host\": \"farm1\"}' --json\n"
           "  exechost conformance ./build/box.so --only tree --only exec.signals\n"
           "  exechost conformance ./build/box.so --junit report.xml\n"
           "  exechost conformance local\n"
           "\n"
           "Levels: 0 exec, 1 streams and signals, 2 environments, 3 limits, 4 recovery. What is not claimed, or can't "
           "be\n"
           "found out on this machine, is unchecked and never counts as passed.\n"
           "Exit status: 0 no check failed; 1 one did, or there was no plugin to check; 128 + N interrupted by signal "
           "N.";
  }
  void add_options(CLI::App& app) override {
    app.add_option("FILE", library_,
                   "The plugin, FILE.so; its manifest FILE.json is beside it. Or local: the node tier");
    app.add_option("--settings", settings_, "The plugin's own settings, one JSON object")->type_name("JSON");
    app.add_option("--level", level_, "The highest level to check, 0 to 4 (default: all)")->type_name("N");
    add_values(app, "--only", only_, "Only checks of this name or group; may be repeated")->type_name("NAME");
    app.add_flag("--json", json_, "The report as one JSON object");
    app.add_option("--junit", junit_, "Write the report to FILE as JUnit XML too")->type_name("FILE");
  }

  int run(const CommandLine& /*line*/) override {
    StopOnSignal stop;
    SignalWatcher watcher(false);  // before any thread: they inherit what it holds back
    auto options = chosen();
    if (!options) {
      print_failure(options.error());
      return kExitUsage;
    }
    if (auto watched = watcher.start(stop, kGrace); !watched) {
      print_failure(watched.error());
      return 1;
    }
    options->subject.stop = stop.token();
    const int status = check(*options);
    const int asked = watcher.stop();
    return asked == 0 ? status : kExitSignalBase + asked;
  }

 private:
  int check(const conformance::Options& options) const {
    // One line after each check: the whole takes a minute or more.
    const auto report = conformance::run_kit(options, [this](const Finding& finding) {
      if (!json_) print(line_of(finding));
    });
    if (!report) {
      print_failure(report.error());
      return 1;
    }
    if (report->stopped) {
      print_note(fmt::format("stopped after {} checks; there is no report", report->findings.size()));
      return 1;
    }
    if (!junit_.empty()) {
      if (auto written = conformance::write_file(junit_, conformance::to_junit(*report)); !written) {
        print_failure(written.error());
        return 1;
      }
    }
    print(json_ ? conformance::to_json(*report).dump() + "\n" : summary_of(*report, only_.empty()));
    return report->count(Verdict::Kind::failed) == 0 ? 0 : 1;
  }

  Result<conformance::Options> chosen() const {
    conformance::Options options;
    if (library_.empty())
      return unexpected(
          usage_failure("which plugin? FILE is missing", "for example: exechost conformance ./build/box.so"));
    std::error_code error;
    if (library_ != plan::kLocalBackend) options.subject.library = fs::canonical(library_, error).string();
    if (error)
      return unexpected(usage_failure(fmt::format("\"{}\" can't be found: {}", library_, error.message()),
                                      "build the plugin first, and give the path of its .so"));
    if (level_ < 0 || level_ > kHighestLevel)
      return unexpected(
          usage_failure(fmt::format("--level {} is not 0 to 4", level_), "leave it out to check everything"));
    options.highest = static_cast<conformance::Level>(level_);
    options.only = only_;
    if (!settings_.empty()) {
      options.subject.settings = nlohmann::json::parse(settings_, nullptr, false);
      if (!options.subject.settings.is_object())
        return unexpected(
            usage_failure("--settings is not a JSON object", "for example: --settings '{\"host\": \"farm1\"}'"));
    }
    options.subject.exechost_program = fs::read_symlink("/proc/self/exe", error).string();
    return options;
  }

  std::string library_;
  std::string settings_;
  int level_ = kHighestLevel;
  std::vector<std::string> only_;
  bool json_ = false;
  std::string junit_;
};

}  // namespace

std::unique_ptr<Command> make_conformance_command() { return std::make_unique<ConformanceCommand>(); }

}  // namespace exechost::cli

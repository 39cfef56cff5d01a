#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/copy_progress.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/place_argument.hpp"
#include "cli/repeated_option.hpp"
#include "cli/setting_overrides.hpp"
#include "cli/signal_watcher.hpp"
#include "cli/stop_on_signal.hpp"
#include "cli/unattended.hpp"
#include "core/base/utf8.hpp"
#include "exechost/host.hpp"

namespace exechost::cli {
namespace {

constexpr std::chrono::seconds kGrace{2};
constexpr std::size_t kMostShown = 10;

class CopyCommand final : public Command {
 public:
  std::string name() const override { return "cp"; }
  std::string summary() const override { return "Copy files into a session's environment, out of it, or between two"; }
  std::string examples() const override {
    return "  exechost cp data.csv build:/tmp/\n"
           "  exechost cp build:/tmp/report ./report\n"
           "  exechost cp build:/tmp/out test:/tmp\n"
           "\n"
           "A folder is copied with what is in it. DST is a folder that is there, or the copy's new name. A file\n"
           "with a colon in its name is ./NAME. Links don't come out of an environment without --links. Paths in a\n"
           "session begin at the workspace that it was opened with.\n"
           "Exit status: 0 copied (what was left out is said), 1 failed, 2 a wrong command line, 124 timed out,\n"
           "128 + N interrupted by signal N.";
  }
  void add_options(CLI::App& app) override {
    app.add_option("SRC", source_, "A path, or SESSION:PATH");
    app.add_option("DST", target_, "A path, or SESSION:PATH");
    app.add_flag("--links", links_, "Symbolic links that stay inside the copied folder come out too");
    add_values(app, "--set", set_, "Any setting, such as files.max_bytes=\"1g\"; may be repeated")
        ->type_name("NAME=JSON");
    app.add_flag("--json", json_, "The result as one JSON object");
    app.add_flag("--quiet", quiet_, "Nothing about progress and about what was left out");
  }

  int run(const CommandLine& /*line*/) override {
    if (source_.empty() || target_.empty()) {
      return wrong(usage_failure("SRC and DST are needed", "for example: exechost cp data.csv build:/tmp/"));
    }
    const auto source = place_argument(source_);
    if (!source) return wrong(source.error());
    const auto target = place_argument(target_);
    if (!target) return wrong(target.error());
    if (!source->session && !target->session) {
      return wrong(usage_failure("neither SRC nor DST is in a session", "write SESSION:PATH for the one that is"));
    }
    auto request = request_for(set_);
    if (!request) return wrong(request.error());
    request->session = source->session ? source->session : target->session;
    HostOptions host_options;
    host_options.keeper = KeeperPlacement::in_process;
    host_options.single_run = true;
    if (const auto settings = settle_timeout(host_options, *request); !settings)
      return report(failed(settings.error()), 0);
    return copy(host_options, *source, *target, *request);
  }

 private:
  // When they can't be listed that is told by the copy itself.
  static std::set<std::string> open_sessions(ExecHost& host) {
    std::set<std::string> names;
    const auto listed = host.sessions_json();
    if (!listed) return names;
    for (const auto& session : nlohmann::json::parse(*listed)) {
      if (session.value("state", "") != "ended") names.insert(session.value("name", ""));
    }
    return names;
  }
  static Failure no_session(const std::string& name) {
    return usage_failure(fmt::format("there is no session \"{}\"", escape_for_terminal(to_valid_utf8(name))),
                         "`exechost ps` lists those there are");
  }
  static int wrong(const Failure& failure) {
    print_failure(failure);
    return kExitUsage;
  }

  static CopyResult failed(Failure failure) {
    CopyResult result;
    result.failure = std::move(failure);
    return result;
  }

  int copy(const HostOptions& host_options, const PlaceArgument& source, const PlaceArgument& target,
           const Request& request) const {
    SignalWatcher watcher(false);  // before any thread: they inherit what it holds back
    StopOnSignal stop;
    if (auto watching = watcher.start(stop, kGrace); !watching) return report(failed(watching.error()), 0);
    CopyProgressLine progress(!quiet_ && !json_ && ::isatty(STDERR_FILENO) == 1);
    CopyOptions options;
    options.keep_links = links_;
    options.on_progress = [&progress](const CopyProgress& now) { progress.update(now); };
    ExecHost host(host_options);
    const auto open = open_sessions(host);
    // A new one has nothing to be copied; most likely its name is wrong.
    if (source.session && !open.contains(*source.session)) return report(failed(no_session(*source.session)), 0);
    CopyResult result;
    if (source.session && target.session) {
      Request to = request;
      to.session = target.session;
      result = host.copy_between(request, source.path, to, target.path, options, stop.token());
    } else if (source.session) {
      result = host.copy_out(request, source.path, target.path, options, stop.token());
    } else {
      result = host.copy_in(source.path, request, target.path, options, stop.token());
    }
    progress.clear();
    if (!quiet_ && result.status == Status::exited && target.session && !open.contains(*target.session))
      print_note(fmt::format("session \"{}\" was not there; it is open now", escape_for_terminal(*target.session)));
    return report(result, watcher.stop());
  }

  static int status_of(const CopyResult& result, int interrupt_signal) {
    if (result.status == Status::exited) return 0;
    if (result.status == Status::timed_out) return kExitTimedOut;
    return result.status == Status::cancelled && interrupt_signal > 0 ? kExitSignalBase + interrupt_signal : 1;
  }

  int report(const CopyResult& result, int interrupt_signal) const {
    const int status = status_of(result, interrupt_signal);
    if (json_) return print(result.to_json() + "\n") == 0 ? status : 1;
    if (!quiet_) {
      for (const std::string& warning : result.warnings) print_warning(warning);
      for (std::size_t i = 0; i < std::min(result.skipped.size(), kMostShown); ++i) {
        const CopySkipped& skipped = result.skipped[i];
        print_note(fmt::format("left out ({}): {}", skipped.reason, to_valid_utf8(skipped.path)));
      }
      if (result.skipped_count > kMostShown) print_note(fmt::format("left out in all: {}", result.skipped_count));
    }
    if (result.failure) print_failure(*result.failure);
    if (status != 0 && result.files + result.folders != 0) {
      print_note(fmt::format("copied before that: {} files, {} folders, {}", result.files, result.folders,
                             readable_bytes(result.bytes)));
    }
    if (!quiet_ && result.status == Status::timed_out) print_note("timed out");
    return status;
  }

  std::string source_;
  std::string target_;
  std::vector<std::string> set_;
  bool links_ = false;
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_cp_command() { return std::make_unique<CopyCommand>(); }

}  // namespace exechost::cli

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/patience_note.hpp"
#include "cli/request_options.hpp"
#include "cli/running_command.hpp"
#include "cli/signal_watcher.hpp"
#include "cli/terminal.hpp"
#include "cli/terminal_approver.hpp"
#include "cli/unattended.hpp"
#include "core/base/open_files.hpp"
#include "exechost/host.hpp"

namespace exechost::cli {
namespace {

constexpr std::chrono::milliseconds kDefaultGrace{2000};
constexpr std::chrono::seconds kPatience{2};  // before a note that preparing goes on

constexpr const char* kExamples =
    "  exechost run -- pytest -q\n"
    "  exechost run --profile install -- npm install\n"
    "  exechost run --timeout 30s --memory 512m -- ./configure\n"
    "  exechost run --shell 'make && make check'\n"
    "  exechost run --json -- node script.js\n"
    "  exechost run --tty -- bash\n"
    "\n"
    "Exit status: the command's own; 124 timed out; 125 ExecHost could not run it (a wrong command\n"
    "line included) or not pass its output on; 126 denied or not executable; 127 no such program; 128+N ended by "
    "signal N.\n"
    "A command may itself end with 124 to 127; --json tells them apart.\n"
    "Time-out: none at a terminal, 10 minutes otherwise, unless a setting says so.";

bool usable(int descriptor, int wrong_mode) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != wrong_mode;
}

ExecResult failed(Failure failure) {
  ExecResult result;
  result.status = Status::failed;
  result.failure = std::move(failure);
  return result;
}

class RunCommand final : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override {
    return "Run a command isolated, with its streams and exit status passed through";
  }
  std::string examples() const override { return kExamples; }
  bool takes_command() const override { return true; }
  int usage_status() const override { return kExitFailure; }

  void add_options(CLI::App& app) override {
    options_.add_command_options(app);
    options_.add_to(app);
    app.add_flag("--json", json_, "One result object on standard output; the command's streams are inside it")
        ->group("Output");
    app.add_flag("--quiet", quiet_, "No warnings and no notes; failures are still shown")->group("Output");
  }

  std::string failure_document(const Failure& failure) const override { return failed(failure).to_json() + "\n"; }

  int run(const CommandLine& line) override {
    auto request = options_.to_request(line);
    if (!request) return report(failed(request.error()), 0);
    if (auto enough = check_open_files(); !enough) return report(failed(enough.error()), 0);
    HostOptions host;
    host.keeper = KeeperPlacement::in_process;
    host.single_run = true;
    const auto settings = settle_timeout(host, *request);
    if (!settings) return report(failed(settings.error()), 0);
    const auto& grace = settings->at("resources.kill_grace");
    return execute(host, std::move(*request),
                   grace.is_number() ? std::chrono::milliseconds(grace.get<std::int64_t>()) : kDefaultGrace);
  }

 private:
  void connect_streams(Request& request) const {
    if (usable(STDIN_FILENO, O_WRONLY)) {
      request.standard_input.kind = StdinSource::Kind::descriptor;
      request.standard_input.descriptor = STDIN_FILENO;
    }
    if (json_) return;
    if (usable(STDOUT_FILENO, O_RDONLY)) request.stdout_descriptor = STDOUT_FILENO;
    if (usable(STDERR_FILENO, O_RDONLY)) request.stderr_descriptor = STDERR_FILENO;
  }

  // For a person who waits: an image that is pulled, a machine that starts.
  std::unique_ptr<PatienceNote> watch_preparation(const Execution& execution, const TerminalApprover* approver) const {
    if (quiet_ || json_ || options_.tty() || ::isatty(STDERR_FILENO) != 1) return nullptr;
    return std::make_unique<PatienceNote>(
        kPatience,
        [&execution, approver] {
          const bool asking = approver != nullptr && approver->asking();
          return !asking && !execution.running() && !execution.finished();
        },
        [] { print_note("still preparing the environment (interrupt to give up)"); });
  }

  int execute(HostOptions host_options, Request request, std::chrono::milliseconds grace) const {
    connect_streams(request);
    if (const auto size = terminal_size(); request.tty && size) {
      request.tty_rows = size->rows;
      request.tty_columns = size->columns;
    }
    SignalWatcher watcher(request.tty);  // before any thread: they inherit what it holds back
    std::optional<RawTerminal> terminal;
    if (request.tty) terminal.emplace(STDIN_FILENO);
    RunningCommand running(terminal ? &*terminal : nullptr);
    if (auto watching = watcher.start(running, grace); !watching) {
      terminal.reset();
      return report(failed(watching.error()), 0);
    }

    // Outlives the host, which asks it.
    const auto approver = TerminalApprover::open();
    if (approver) {
      host_options.approver = [&approver](const AdmissionQuestion& question, const std::stop_token& stop) {
        return approver->ask(question, stop);
      };
    }
    ExecHost host(host_options);
    auto execution = host.start(request);
    ExecResult result;
    if (execution) {
      running.attach(*execution);
      const auto progress = watch_preparation(*execution, approver.get());
      result = execution->wait();
    } else {
      result = failed(execution.error());
    }
    const int interrupt_signal = watcher.stop();
    terminal.reset();
    return report(result, interrupt_signal);
  }

  // What the caller should have got and did not; a reader that went away did not want it.
  static std::vector<std::string> lost_output(const ExecResult& result) {
    std::vector<std::string> lost;
    const auto add = [&lost](const CapturedStream& stream, bool open, std::string_view name) {
      if (!stream.undelivered.empty()) {
        lost.push_back(stream.undelivered);
      } else if (!open && stream.total_bytes > 0) {
        lost.push_back(fmt::format("{} is closed: {} bytes of it are lost", name, stream.total_bytes));
      }
    };
    add(result.out, usable(STDOUT_FILENO, O_RDONLY), "stdout");
    add(result.err, usable(STDERR_FILENO, O_RDONLY), "stderr");
    return lost;
  }

  int report(const ExecResult& result, int interrupt_signal) const {
    const int status = exit_status(result, interrupt_signal);
    if (json_) {
      // A result nobody could read must not look like one that was.
      return print(result.to_json() + "\n") == 0 ? status : kExitFailure;
    }
    const std::vector<std::string> lost = lost_output(result);
    for (const std::string& warning : result.warnings) {
      if (!quiet_ && std::find(lost.begin(), lost.end(), warning) == lost.end()) print_warning(warning);
    }
    for (const std::string& loss : lost) print_note(loss);
    if (result.failure) print_failure(*result.failure);
    if (!quiet_ && result.status == Status::timed_out) {
      print_note(fmt::format("timed out after {:.1f} s; nothing of the command is left",
                             std::chrono::duration<double>(result.duration).count()));
    }
    if (!quiet_ && result.status == Status::resource_exhausted) print_note("a limit ended the command");
    // Output that is not there must not look like the whole of it.
    return status == 0 && !lost.empty() ? kExitFailure : status;
  }

  RequestOptions options_;
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace exechost::cli

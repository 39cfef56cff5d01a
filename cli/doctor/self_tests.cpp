// Isolation shown, not assumed: a command that runs, and one that tries to write where it may not.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stop_token>

#include "cli/doctor/check.hpp"
#include "cli/signal_watcher.hpp"
#include "cli/stop_on_signal.hpp"
#include "exechost/host.hpp"

namespace exechost::cli::doctor {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::seconds kGrace{10};  // from a first signal to an end without clearing up
constexpr const char* kCanaryText = "unchanged\n";

// A folder of our own with a workspace and, beside it, a file the command must not change.
class Playground {
 public:
  Playground() {
    const char* base = std::getenv("TMPDIR");
    std::string name = fmt::format("{}/exechost-doctor-XXXXXX", base != nullptr && *base == '/' ? base : "/tmp");
    if (::mkdtemp(name.data()) == nullptr) {
      problem_ = fmt::format("{}: {}", name, std::strerror(errno));
      return;
    }
    root_ = name;
    std::error_code error;
    std::filesystem::create_directory(workspace(), error);
    std::ofstream(canary()) << kCanaryText;
  }
  ~Playground() {
    if (root_.empty()) return;
    // By name: listing a folder takes a descriptor, and there may be none left.
    std::error_code error;
    for (const std::string& path : {workspace() + "/inside", workspace(), canary(), root_})
      std::filesystem::remove(path, error);
  }
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  const std::string& problem() const { return problem_; }
  std::string workspace() const { return root_ + "/workspace"; }
  std::string canary() const { return root_ + "/canary"; }
  std::string canary_text() const {
    std::ostringstream text;
    text << std::ifstream(canary()).rdbuf();
    return text.str();
  }

 private:
  std::string root_;
  std::string problem_;
};

ExecResult run(const Playground& playground, std::vector<std::string> argv, const std::stop_token& stop) {
  HostOptions options;
  options.keeper = KeeperPlacement::in_process;
  options.workspace = playground.workspace();
  ExecHost host(options);
  Request request;
  request.argv = std::move(argv);
  request.timeout = kPatience;
  return host.run(request, stop);
}

std::string outcome(const ExecResult& result) {
  if (result.failure) return result.failure->message;
  return fmt::format("{} with status {}, signal {}: {}", to_string(result.status), result.exit_code,
                     result.signal_number, result.err.data);
}

Check runs_a_command(const Playground& playground, const std::stop_token& stop) {
  const std::string name = "a command runs";
  const ExecResult result = run(playground, {"true"}, stop);
  if (result.status == Status::exited && result.exit_code == 0) {
    return ok(name, fmt::format("in {} ({} ms)", result.backend, result.duration.count()));
  }
  return fail(name, outcome(result), result.failure ? result.failure->hint : "see: exechost explain -- true");
}

// The command says when it got past its attempts, so that a command that never ran proves nothing.
Check writes_nowhere_else(const Playground& playground, const std::stop_token& stop) {
  const std::string name = "a write outside the workspace is refused";
  const std::string script =
      "echo changed > \"$1\"; echo changed >> /etc/exechost-doctor; echo inside > inside; echo tried";
  const ExecResult result = run(playground, {"/bin/sh", "-c", script, "sh", playground.canary()}, stop);
  if (result.status != Status::exited || result.out.data != "tried\n")
    return fail(name, outcome(result), "see the check above");
  if (playground.canary_text() != kCanaryText || ::access("/etc/exechost-doctor", F_OK) == 0) {
    return fail(name, "the host's file was changed",
                "do not run untrusted commands here; see: exechost explain -- true and the settings it names");
  }
  if (::access((playground.workspace() + "/inside").c_str(), F_OK) != 0) {
    return fail(name, "the workspace is not writable", "see: exechost explain -- true");
  }
  return ok(name, "the host's files are unchanged, the workspace is writable");
}

}  // namespace

SelfTests self_tests() {
  StopOnSignal stop;
  SignalWatcher watcher(false);  // before any thread: they inherit what it holds back
  const Playground playground;
  if (!playground.problem().empty()) {
    return {
        {fail("self-test", "no temporary folder: " + playground.problem(), "set TMPDIR to a folder that is writable")}};
  }
  if (const auto watched = watcher.start(stop, kGrace); !watched)
    return {{fail("self-test", watched.error().message, watched.error().hint)}};
  SelfTests tests;
  tests.checks.push_back(runs_a_command(playground, stop.token()));
  if (tests.checks.front().verdict == Verdict::ok)
    tests.checks.push_back(writes_nowhere_else(playground, stop.token()));
  tests.interrupted_by = watcher.stop();
  return tests;
}

}  // namespace exechost::cli::doctor

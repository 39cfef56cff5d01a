#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/setting_overrides.hpp"
#include "cli/text_table.hpp"
#include "exechost/host.hpp"

namespace exechost::cli {
namespace {

using nlohmann::json;

HostOptions host_options() {
  HostOptions options;
  options.keeper = KeeperPlacement::in_process;
  options.single_run = true;
  return options;
}

std::string span(std::int64_t milliseconds) {
  const std::int64_t seconds = milliseconds / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{} d", seconds / (24 * 3600));
}

std::string state_of(const json& session) {
  const std::string state = session.value("state", "");
  const auto running = session.value("running", std::int64_t{0});
  if (state == "running") return running == 1 ? "1 command runs" : fmt::format("{} commands run", running);
  if (state != "idle") return state;
  const std::int64_t left =
      session.value("idle_timeout_ms", std::int64_t{0}) - session.value("idle_ms", std::int64_t{0});
  return fmt::format("idle, ends in {}", span(left < 0 ? 0 : left));
}

class PsCommand final : public Command {
 public:
  std::string name() const override { return "ps"; }
  std::string summary() const override { return "The named sessions that are open"; }
  std::string examples() const override {
    return "  exechost ps\n"
           "  exechost ps --json\n"
           "\n"
           "A session is opened by the first `exechost run --session NAME`, and is yours alone.";
  }
  void add_options(CLI::App& app) override { app.add_flag("--json", json_, "The list as one JSON array"); }

  int run(const CommandLine& /*line*/) override {
    ExecHost host(host_options());
    const auto listed = host.sessions_json();
    if (!listed) {
      print_failure(listed.error());
      return 1;
    }
    const json sessions = json::parse(*listed);
    if (json_) return print(sessions.dump(2) + "\n");
    if (sessions.empty()) {
      print_note("no session is open");
      return 0;
    }
    std::vector<std::vector<std::string>> rows{{"SESSION", "BACKEND", "STATE", "OPEN FOR", "WORKSPACE"}};
    std::vector<std::vector<std::string>> commands{{"SESSION", "ID", "STATE", "COMMAND"}};
    for (const json& session : sessions) {
      const std::string name = session.value("name", "");
      rows.push_back({name, session.value("backend", ""), state_of(session),
                      span(session.value("age_ms", std::int64_t{0})), session.value("workspace", "")});
      for (const json& command : session.value("commands", json::array())) {
        commands.push_back({name, command.value("id", ""), command.value("state", ""), command.value("command", "")});
      }
    }
    std::string text = text_table(rows);
    if (commands.size() > 1) text += "\n" + text_table(commands);
    return print(text);
  }

 private:
  bool json_ = false;
};

class StopCommand final : public Command {
 public:
  std::string name() const override { return "stop"; }
  std::string summary() const override { return "End named sessions, with everything that runs in them"; }
  std::string examples() const override {
    return "  exechost stop build\n"
           "  exechost stop --purge build      also what its backend would keep for another time\n"
           "  exechost stop --all";
  }
  void add_options(CLI::App& app) override {
    app.add_option("session", names_, "Names of sessions")->type_name("SESSION");
    app.add_flag("--all", all_, "Every session that is open");
    app.add_flag("--purge", purge_, "Also remove what a backend would keep (a persistent overlay, a volume)");
  }

  int run(const CommandLine& /*line*/) override {
    if (names_.empty() != all_) {
      print_failure(usage_failure(all_ ? "both --all and names of sessions are given" : "no session is named",
                                  "for example: exechost stop build, or exechost stop --all"));
      return kExitUsage;
    }
    ExecHost host(host_options());
    if (all_) {
      const auto listed = host.sessions_json();
      if (!listed) return failed(listed.error());
      for (const json& session : json::parse(*listed)) names_.push_back(session.value("name", ""));
    }
    int status = 0;
    for (const std::string& name : names_) {
      const auto stopped = host.stop_session(name, purge_);
      // Of all that there are one may just have ended by itself.
      const bool gone = all_ && !stopped && stopped.error().kind == FailureKind::invalid_request;
      if (!stopped && !gone) status = failed(stopped.error());
    }
    return status;
  }

 private:
  static int failed(const Failure& failure) {
    print_failure(failure);
    return 1;
  }

  std::vector<std::string> names_;
  bool all_ = false;
  bool purge_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ps_command() { return std::make_unique<PsCommand>(); }
std::unique_ptr<Command> make_stop_command() { return std::make_unique<StopCommand>(); }

}  // namespace exechost::cli

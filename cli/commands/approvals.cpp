#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/setting_overrides.hpp"
#include "core/host/inspect.hpp"
#include "core/plan/shell_words.hpp"
#include "core/settings/allow_list.hpp"

namespace exechost::cli {
namespace {

using nlohmann::json;
using settings::Words;

constexpr const char* kAllow = "admission.node.allow";

std::vector<Words> allowed_in(const settings::Settings& settings) {
  const json& list = settings.at(kAllow);
  return list.is_array() ? list.get<std::vector<Words>>() : std::vector<Words>();
}

class ApprovalsCommand final : public Command {
 public:
  std::string name() const override { return "approvals"; }
  std::string summary() const override { return "Commands that may run where nothing isolates them"; }
  std::string examples() const override {
    return "  exechost approvals list\n"
           "  exechost approvals allow --tier node -- git push origin main\n"
           "  exechost approvals revoke --tier node -- git push origin main\n"
           "\n"
           "A command is compared word by word, exactly. The list is admission.node.allow in your own settings file.";
  }
  bool takes_command() const override { return true; }
  std::vector<std::string> usage_forms() const override {
    return {"list [--json]", "allow [OPTIONS] -- COMMAND [ARGUMENTS]", "revoke [OPTIONS] -- COMMAND [ARGUMENTS]"};
  }

  void add_options(CLI::App& app) override {
    app.add_option("action", action_, "list, allow or revoke")->check(CLI::IsMember({"list", "allow", "revoke"}));
    app.add_option("--tier", tier_, "The tier that the command may run in")->check(CLI::IsMember({"node"}));
    app.add_flag("--json", json_, "The list as one JSON object");
  }

  int run(const CommandLine& line) override {
    if (action_.empty() || action_ == "list") {
      if (line.has_command) return usage("list takes no command");
      return list();
    }
    if (line.command.empty()) return usage(fmt::format("{} needs a command after --", action_));
    return change(line.command);
  }

 private:
  static int usage(std::string message) {
    print_failure(usage_failure(std::move(message), "for example: exechost approvals allow -- make check"));
    return kExitUsage;
  }
  static int failed(const Failure& failure) {
    print_failure(failure);
    return 1;
  }

  int list() const {
    const auto settings = host::inspect_settings(HostOptions{}, Request{});
    if (!settings) return failed(settings.error());
    const auto commands = allowed_in(*settings);
    const std::string source = settings->origin(kAllow).source;
    if (json_) {
      const json document{{"tier", "node"},
                          {"security", settings->at("admission.node.security")},
                          {"ask", settings->at("admission.node.ask")},
                          {"allow", commands},
                          {"source", source}};
      return print(document.dump(2) + "\n");
    }
    std::string text = fmt::format("node  security {}, ask {}; {} allowed by {}\n",
                                   settings->at("admission.node.security").get<std::string>(),
                                   settings->at("admission.node.ask").get<std::string>(), commands.size(), source);
    for (const Words& command : commands) text += "  " + plan::shell_line(command) + "\n";
    return print(text);
  }

  int change(const Words& command) const {
    const auto before = host::inspect_settings(HostOptions{}, Request{});
    if (!before) return failed(before.error());
    settings::AllowList target;
    target.user_dir = host::inspect_locations(HostOptions{}, Request{}).user_dir;
    target.tier = tier_;
    // The user's list takes the place of the system's: what that allows goes on being allowed.
    if (before->origin(kAllow).scope == settings::Scope::system) target.base = allowed_in(*before);
    const bool add = action_ == "allow";
    const auto changed = add ? settings::allow_command(target, command) : settings::revoke_command(target, command);
    if (!changed) return failed(changed.error());
    if (!*changed) {
      print_note(add ? "it is on the list already" : "it is not on the list");
      return add ? 0 : 1;
    }
    return report(command, add);
  }

  // Whether what was written is what holds.
  static int report(const Words& command, bool add) {
    const auto settings = host::inspect_settings(HostOptions{}, Request{});
    if (!settings) return failed(settings.error());
    const auto commands = allowed_in(*settings);
    const bool listed = std::find(commands.begin(), commands.end(), command) != commands.end();
    if (listed == add) return 0;
    print_warning(fmt::format("your list has changed, but {} decides: {} still {}", settings->origin(kAllow).source,
                              plan::shell_line(command), add ? "has to be asked about" : "is allowed"));
    return 0;
  }

  std::string action_;
  std::string tier_ = "node";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_approvals_command() { return std::make_unique<ApprovalsCommand>(); }

}  // namespace exechost::cli

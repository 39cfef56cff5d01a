#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.hpp"
#include "cli/completion/script.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/setting_overrides.hpp"
#include "core/host/inspect.hpp"

namespace exechost::cli {
namespace {

// Names that only this machine knows, one a line; nothing when they can't be found out.
std::string backend_values() {
  std::string text;
  const auto backends = host::inspect_backends(HostOptions{}, Request{}, false);
  if (!backends) return text;
  for (const host::BackendInspection& backend : *backends) {
    if (backend.tier != "gateway") text += backend.found.id + "\n";
  }
  return text;
}

std::string profile_values() {
  std::set<std::string> names{"run", "install", "read_only"};
  if (const auto settings = host::inspect_settings(HostOptions{}, Request{})) {
    for (const auto& [name, profile] : settings->at("profiles").items()) names.insert(name);
  }
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

class CompletionCommand final : public Command {
 public:
  explicit CompletionCommand(const CLI::App& root) : root_(root) {}
  std::string name() const override { return "completion"; }
  std::string summary() const override { return "Print a completion script for bash, zsh or fish"; }
  std::string examples() const override {
    return "  source <(exechost completion bash)\n"
           "  exechost completion zsh > ~/.zfunc/_exechost\n"
           "  exechost completion fish > ~/.config/fish/completions/exechost.fish";
  }
  void add_options(CLI::App& app) override {
    app.add_option("SHELL", shell_, "bash, zsh or fish");
    app.add_option("--values", values_, "For the scripts: the backends or profiles there are")->group("");
  }

  int run(const CommandLine& /*line*/) override {
    if (values_ == "backends") return print(backend_values());
    if (values_ == "profiles") return print(profile_values());
    const auto commands = completable_commands(root_);
    if (shell_ == "bash") return print(bash_completion(commands));
    if (shell_ == "zsh") return print(zsh_completion(commands));
    if (shell_ == "fish") return print(fish_completion(commands));
    print_failure(usage_failure(
        shell_.empty() ? "which shell? bash, zsh or fish" : fmt::format("no completion for the shell \"{}\"", shell_),
        "for example: source <(exechost completion bash)"));
    return kExitUsage;
  }

 private:
  const CLI::App& root_;
  std::string shell_;
  std::string values_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command(const CLI::App& root) {
  return std::make_unique<CompletionCommand>(root);
}

}  // namespace exechost::cli

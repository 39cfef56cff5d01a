#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/repeated_option.hpp"
#include "cli/setting_overrides.hpp"
#include "core/base/utf8.hpp"
#include "exechost/host.hpp"

namespace exechost::cli {
namespace {

char letter(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return 'A';
    case ChangeKind::modified: return 'M';
    case ChangeKind::deleted: return 'D';
    case ChangeKind::mode_changed: return 'P';
    case ChangeKind::type_changed: return 'T';
  }
  return 'M';
}

std::string as_line(const Change& change) {
  std::string line = fmt::format("{} {}", letter(change.kind), change.path);
  if (change.type == "folder") line += '/';
  if (change.kind == ChangeKind::mode_changed) line += fmt::format(" ({:04o})", change.mode);
  if (change.kind == ChangeKind::type_changed) line += fmt::format(" ({} -> {})", change.old_type, change.type);
  if (change.type == "link" && change.kind != ChangeKind::deleted) line += fmt::format(" -> {}", change.target);
  return escape_for_terminal(to_valid_utf8(line));
}

// No environment is opened: the copy and the workspace are all there is to look at.
HostOptions host_options() {
  HostOptions options;
  options.keeper = KeeperPlacement::in_process;
  return options;
}

class OfSession : public Command {
 protected:
  void add_session(CLI::App& app) {
    app.add_option("SESSION", session_, "The session whose runs worked on a copy (--set workspace.mode='\"copy\"')");
  }
  void add_common(CLI::App& app) {
    add_values(app, "--set", set_, "Any setting, such as files.max_entries=500000; may be repeated")
        ->type_name("NAME=JSON");
    app.add_flag("--json", json_, "The result as one JSON object");
  }
  Result<Request> request() const {
    if (session_.empty()) return unexpected(usage_failure("SESSION is needed", "for example: exechost changes build"));
    auto made = request_for(set_);
    if (made) made->session = session_;
    return made;
  }
  static int wrong(const Failure& failure) {
    print_failure(failure);
    return kExitUsage;
  }
  static int failed(const Failure& failure) {
    print_failure(failure);
    return 1;
  }
  bool json() const { return json_; }

 private:
  std::string session_;
  std::vector<std::string> set_;
  bool json_ = false;
};

class ChangesCommand final : public OfSession {
 public:
  std::string name() const override { return "changes"; }
  std::string summary() const override { return "What a session changed in its copy of the workspace"; }
  std::string examples() const override {
    return "  exechost changes build\n"
           "  exechost changes build --json\n"
           "\n"
           "A added, M modified, D deleted, P permissions changed, T another type.\n"
           "Exit status: 0, also when nothing was changed; 1 failed, 2 a wrong command line.";
  }
  void add_options(CLI::App& app) override {
    add_session(app);
    add_common(app);
  }
  int run(const CommandLine& /*line*/) override {
    const auto asked = request();
    if (!asked) return wrong(asked.error());
    const auto found = ExecHost(host_options()).changes(*asked);
    if (!found) return failed(found.error());
    if (json()) return print(found->to_json() + "\n");
    std::string text;
    for (const Change& change : found->changes) text += as_line(change) + "\n";
    for (const CopySkipped& skipped : found->skipped) {
      print_note(fmt::format("can't be looked at ({}): {}", skipped.reason, to_valid_utf8(skipped.path)));
    }
    return print(text);
  }
};

class ApplyCommand final : public OfSession {
 public:
  std::string name() const override { return "apply"; }
  std::string summary() const override { return "Carry a session's changes over into the workspace"; }
  std::string examples() const override {
    return "  exechost apply build\n"
           "  exechost apply build src/main.c docs\n"
           "  exechost apply build --discard\n"
           "\n"
           "A file that was changed in the workspace too is a conflict and stays as it is there.\n"
           "Exit status: 0 all of it was carried over, 1 not all of it, or it failed, 2 a wrong command line.";
  }
  void add_options(CLI::App& app) override {
    add_session(app);
    app.add_option("PATH", paths_, "Only these, and what is below them; relative to the workspace");
    app.add_flag("--discard", discard_, "Throw the copy away, with every change in it");
    add_common(app);
  }
  int run(const CommandLine& /*line*/) override {
    const auto asked = request();
    if (!asked) return wrong(asked.error());
    if (discard_ && !paths_.empty())
      return wrong(usage_failure("--discard throws all of the copy away and takes no paths"));
    ExecHost host(host_options());
    if (discard_) {
      const auto discarded = host.discard_changes(*asked);
      return discarded ? 0 : failed(discarded.error());
    }
    const auto applied = host.apply(*asked, paths_);
    if (!applied) return failed(applied.error());
    const bool all = applied->count(ApplyOutcome::applied) == applied->changes.size();
    if (json()) return print(applied->to_json() + "\n") == 0 && all ? 0 : 1;
    std::string text;
    for (const AppliedChange& change : applied->changes) {
      if (change.outcome == ApplyOutcome::applied) text += as_line(change.change) + "\n";
    }
    const int printed = print(text);
    for (const AppliedChange& change : applied->changes) {
      if (change.outcome == ApplyOutcome::applied) continue;
      print_warning(
          fmt::format("{}: {}: {}", to_string(change.outcome), to_valid_utf8(change.change.path), change.reason));
    }
    return printed == 0 && all ? 0 : 1;
  }

 private:
  std::vector<std::string> paths_;
  bool discard_ = false;
};

}  // namespace

std::unique_ptr<Command> make_changes_command() { return std::make_unique<ChangesCommand>(); }
std::unique_ptr<Command> make_apply_command() { return std::make_unique<ApplyCommand>(); }

}  // namespace exechost::cli

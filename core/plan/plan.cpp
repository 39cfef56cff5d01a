#include "core/plan/plan.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "core/plan/compose.hpp"
#include "core/plan/confinement.hpp"
#include "core/plan/environment.hpp"
#include "core/plan/negotiation.hpp"
#include "core/plan/paths.hpp"
#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"
#include "core/plan/tier.hpp"
#include "core/plan/workspace.hpp"

namespace exechost::plan {
namespace {

Result<std::vector<std::string>> command_of(const Request& request) {
  const auto refuse = [](std::string message) {
    return unexpected(plan_failure(FailureKind::invalid_request, std::move(message)));
  };
  if (request.shell && !request.argv.empty()) return refuse("argv and shell are both given; exactly one is needed");
  if (request.shell) {
    if (request.shell->find('\0') != std::string::npos) return refuse("shell contains a NUL byte");
    return std::vector<std::string>{"/bin/sh", "-c", *request.shell};
  }
  if (request.argv.empty()) return refuse("there is no command: argv is empty and shell is not given");
  if (request.argv.front().empty()) return refuse("argv[0] is empty; it names the program");
  for (std::size_t i = 0; i < request.argv.size(); ++i) {
    if (request.argv[i].find('\0') != std::string::npos) return refuse(fmt::format("argv[{}] contains a NUL byte", i));
  }
  return request.argv;
}

Result<void> check_workspace_mode(const settings::Settings& settings) {
  const std::string mode = text_setting(settings, "workspace.mode", "direct");
  if (mode == "direct" || mode == "copy") return {};
  return unexpected(plan_failure(FailureKind::unsupported,
                                 fmt::format("workspace.mode {} is not part of this version (from {})", quote(mode),
                                             origin_text(settings, "workspace.mode")),
                                 "use workspace.mode \"direct\" or \"copy\""));
}

// What is seen of the workspace is the copy, with everything that the view says about paths in it.
void redirect_to_copy(Plan& plan) {
  // In a folder that may be written anyway the workspace needs no entry of its own; the copy does.
  auto& entries = plan.view.entries;
  const ViewEntry* deciding = plan.view.deciding(plan.workspace);
  if (deciding != nullptr && deciding->path != plan.workspace) {
    ViewEntry entry;
    entry.path = plan.workspace;
    entry.access = deciding->access;
    entry.reason = "workspace";
    const std::size_t depth = depth_of(entry.path);
    const auto deeper = std::find_if(entries.begin(), entries.end(),
                                     [depth](const ViewEntry& other) { return depth_of(other.path) > depth; });
    entries.insert(deeper, std::move(entry));
  }
  for (ViewEntry& entry : plan.view.entries) {
    if (entry.access != Access::ro && entry.access != Access::rw) continue;
    const std::string source = entry.source.empty() ? entry.path : entry.source;
    if (!is_at_or_below(source, plan.workspace)) continue;
    entry.source = plan.workspace_copy + source.substr(plan.workspace.size());
  }
}

// A copy is worth nothing where a command reaches the workspace itself.
Result<void> check_copy(const Plan& plan, const BackendFacts& backend) {
  if (plan.workspace_mode != "copy") return {};
  std::string why;
  if (plan.tier != "sandbox") {
    why = fmt::format("tier \"{}\" works on the workspace itself", plan.tier);
  } else if (!plan.view_carried_out) {
    why = fmt::format("backend \"{}\" does not isolate files", plan.backend);
  } else if (plan.workspace_copy.empty()) {
    why = "whoever asks has no place for it";
  } else if (backend.statement.locality != "local") {
    why = fmt::format("backend \"{}\" is not on this machine", plan.backend);
  }
  if (why.empty()) return {};
  return unexpected(plan_failure(FailureKind::unsupported, fmt::format("workspace.mode \"copy\" can't be had: {}", why),
                                 "use workspace.mode \"direct\", or a backend of this machine that isolates files",
                                 plan.backend));
}

// Files go in and out by the guest's hands: there has to be one, and a place that is apart.
Result<void> check_builtin(const Plan& plan) {
  if (!plan.builtin || (plan.tier == "sandbox" && plan.guest != GuestEntry::none)) return {};
  return unexpected(plan_failure(
      FailureKind::unsupported,
      plan.tier == "sandbox" ? fmt::format("backend \"{}\" takes no guest, which would copy the files", plan.backend)
                             : fmt::format("files can't be copied into or out of tier \"{}\"", plan.tier),
      plan.tier == "sandbox" ? "" : "what runs there uses the files of this machine itself", plan.backend));
}

// The command starts only where it can see something: a folder of the host that is shown, a private
// folder, or one on the way to something shown in a private folder.
Result<void> check_cwd(const std::string& cwd, const View& view, const Facts& facts) {
  const ViewEntry* entry = view.deciding(cwd);
  const Access access = entry == nullptr ? Access::hidden : entry->access;
  const bool own_tree = is_at_or_below(cwd, "/proc") || is_at_or_below(cwd, "/dev");
  const auto refuse = [&](std::string_view rule) {
    return unexpected(plan_failure(FailureKind::invalid_request, fmt::format("cwd {} {}", quote(cwd), rule),
                                   "start in the workspace or in a folder that `exechost explain` lists as visible"));
  };
  if (own_tree) return {};
  if (access == Access::hidden || access == Access::masked) return refuse("is not visible in the environment");
  if (access == Access::private_) {
    const bool exists = std::any_of(view.entries.begin(), view.entries.end(),
                                    [&](const ViewEntry& other) { return is_at_or_below(other.path, cwd); });
    return exists ? Result<void>{}
                  : refuse(fmt::format("does not exist: {} is empty in the environment", quote(entry->path)));
  }
  if (entry->source.empty() && facts.path(cwd).kind == FileKind::missing) return refuse("does not exist");
  return {};
}

void fill_from_settings(Plan& plan, const settings::Settings& settings) {
  plan.profile = text_setting(settings, "profile", "run");
  plan.session = text_setting(settings, "session.name");
  plan.fallback = list_setting(settings, "fallback");
  plan.workspace_mode = text_setting(settings, "workspace.mode", "direct");
  if (const auto milliseconds = count_setting(settings, "resources.timeout")) {
    plan.timeout = std::chrono::milliseconds(*milliseconds);
  }
  if (const auto milliseconds = count_setting(settings, "resources.kill_grace")) {
    plan.kill_grace = std::chrono::milliseconds(*milliseconds);
  }
  if (const auto milliseconds = count_setting(settings, "session.idle_timeout")) {
    plan.idle_timeout = std::chrono::milliseconds(*milliseconds);
  }
  if (const auto milliseconds = count_setting(settings, "session.max_lifetime")) {
    plan.max_lifetime = std::chrono::milliseconds(*milliseconds);
  }
  if (const auto bytes = count_setting(settings, "resources.output_cap")) plan.output.cap_bytes = *bytes;
  plan.output.spill = flag_setting(settings, "resources.output_spill", false);
  plan.warnings = settings.warnings();
}

void fill_from_backend(Plan& plan, Choice& choice, const settings::Settings& settings) {
  Negotiated& negotiated = choice.negotiated;
  plan.backend = choice.backend->id;
  plan.backend_library = choice.backend->library;
  plan.backend_library_sha256 = choice.backend->library_sha256;
  plan.candidates = std::move(choice.candidates);
  plan.degraded = std::move(choice.degraded);
  plan.persistent = negotiated.persistent;
  plan.network = std::move(negotiated.network);
  plan.resources = negotiated.resources;
  plan.image = std::move(negotiated.image);
  plan.guest = negotiated.statement.guest;
  plan.settings = std::move(negotiated.reports);
  plan.isolation = std::move(negotiated.isolation);
  const std::string own_settings = "backends." + plan.backend;
  plan.backend_settings = settings.backend_settings(plan.backend);
  for (const auto& [name, presentation] : settings.presentations()) {
    if (presentation.secret && name.starts_with(own_settings + '.')) {
      plan.secret_backend_settings.push_back(name.substr(own_settings.size() + 1));
    }
  }
  for (auto* warnings : {&choice.warnings, &negotiated.warnings}) {
    plan.warnings.insert(plan.warnings.end(), warnings->begin(), warnings->end());
  }
}

// Scripts in an environment that lasts, where our guest can hand a shell what it needs.
void fill_shell(Plan& plan, const PlanInput& input) {
  if (!input.request.shell || !plan.persistent) return;
  if (plan.guest != GuestEntry::control_fd) {
    plan.warnings.push_back(
        fmt::format("backend {}: nothing of a shell's state (folder, variables, functions) goes on to the next run, "
                    "since {}",
                    plan.backend,
                    plan.guest == GuestEntry::none ? "ExecHost's guest is not in its environments"
                                                   : "no descriptor for it can be passed into its environments"));
    return;
  }
  ShellRun shell;
  shell.script = *input.request.shell;
  shell.cwd_given = input.request.cwd.has_value();
  for (const auto& [name, value] : input.request.env) shell.given_variables.push_back(name);
  shell.refuse_when_busy = text_setting(input.settings, "session.busy", "queue") == "refuse";
  plan.shell = std::move(shell);
}

Result<void> fill_environment(Plan& plan, const PlanInput& input, const HomeInside& home) {
  auto environment = build_environment(input.settings, input.request, input.facts, home, plan.cwd);
  if (!environment) return unexpected(environment.error());
  plan.environment = std::move(environment->variables);
  plan.removed_environment = std::move(environment->withheld);
  return {};
}

Result<void> place_in_sandbox(Plan& plan, const PlanInput& input) {
  const settings::Settings& settings = input.settings;
  auto workspace = choose_workspace(settings, input.facts, plan.warnings);
  if (!workspace) return unexpected(workspace.error());
  plan.workspace = std::move(*workspace);
  auto view = compose_view(settings, input.facts, plan.workspace, plan.warnings);
  if (!view) return unexpected(view.error());
  plan.view = std::move(*view);
  if (plan.workspace_mode == "copy" && !input.workspace_copy.empty()) {
    plan.workspace_copy = input.workspace_copy;
    redirect_to_copy(plan);
  }
  auto cwd = choose_cwd(input.request.cwd, settings, input.facts, plan.workspace);
  if (!cwd) return unexpected(cwd.error());
  plan.cwd = std::move(*cwd);
  if (auto visible = check_cwd(plan.cwd, plan.view, input.facts); !visible) return visible;
  return fill_environment(plan, input, home_inside(input.facts));
}

// A plain process sees what its user sees: no view, no workspace that would bound anything, and the
// user's own home and scratch folder.
Result<void> place_on_host(Plan& plan, const PlanInput& input) {
  plan.view = {};
  auto folder = choose_host_folder(input.facts);
  if (!folder) return unexpected(folder.error());
  plan.workspace = std::move(*folder);
  auto cwd = choose_cwd(input.request.cwd, input.settings, input.facts, plan.workspace);
  if (!cwd) return unexpected(cwd.error());
  plan.cwd = std::move(*cwd);
  if (input.facts.path(plan.cwd).kind == FileKind::missing) {
    return unexpected(plan_failure(FailureKind::invalid_request, fmt::format("cwd {} does not exist", quote(plan.cwd)),
                                   "start in a folder of this machine"));
  }
  return fill_environment(plan, input, std::nullopt);
}

}  // namespace

Result<Plan> make_plan(const PlanInput& input) {
  const settings::Settings& settings = input.settings;
  Plan plan;
  fill_from_settings(plan, settings);

  auto command = command_of(input.request);
  if (!command) return unexpected(command.error());
  plan.argv = std::move(*command);
  plan.script = input.request.shell.has_value();
  plan.tty = input.request.tty;
  plan.builtin = input.builtin;
  if (plan.builtin) plan.output = {};  // what goes through is kept nowhere

  auto tier = choose_tier(settings);
  if (!tier) return unexpected(tier.error());
  plan.tier = std::move(*tier);
  auto on_unavailable = choose_on_unavailable(settings);
  if (!on_unavailable) return unexpected(on_unavailable.error());
  plan.on_unavailable = std::move(*on_unavailable);
  if (auto valid = check_workspace_mode(settings); !valid) return unexpected(valid.error());

  if (plan.tier != "node") {
    if (auto placed = place_in_sandbox(plan, input); !placed) return unexpected(placed.error());
  }
  auto choice = choose_backend(input, plan.tier, plan.on_unavailable);
  if (!choice) return unexpected(choice.error());
  if (choice->backend->id == kLocalBackend) {
    plan.tier = "node";  // by its own name, or as the place to fall back to
    if (auto placed = place_on_host(plan, input); !placed) return unexpected(placed.error());
  }
  plan.view_carried_out = choice->negotiated.statement.capability("files").grade >= Grade::emulated;
  fill_from_backend(plan, *choice, settings);
  fill_shell(plan, input);
  if (auto possible = check_builtin(plan); !possible) return unexpected(possible.error());
  if (auto possible = check_copy(plan, *choice->backend); !possible) return unexpected(possible.error());
  if (plan.tier != "sandbox") {
    plan.confinement = no_confinement();
    return plan;
  }
  plan.confinement = make_confinement(plan.view, plan.resources, input.facts, plan.view_carried_out);
  // Another machine has another kernel and other files: its guest's report is all there is.
  const bool here = plan.guest != GuestEntry::none && choice->backend->statement.locality == "local";
  plan.confinement.landlock_required = here && input.facts.landlock_abi > 0;
  if (!here) plan.confinement.view_checks.clear();
  return plan;
}

}  // namespace exechost::plan

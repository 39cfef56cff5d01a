#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/repeated_option.hpp"
#include "cli/setting_overrides.hpp"
#include "cli/text_table.hpp"
#include "core/host/backends_report.hpp"
#include "core/host/inspect.hpp"

namespace exechost::cli {
namespace {

using host::BackendInspection;

// The capabilities people choose a backend by; --verbose shows all.
constexpr std::string_view kKeyCapabilities[] = {
    "files", "network.none", "network.filtered", "image", "memory", "cpu", "persistent", "pty", "tree_kill"};

std::string readiness(const BackendInspection& backend) {
  if (backend.found.problem || backend.probe_failure) return "broken";
  if (!backend.probe) return "not probed";
  return backend.probe->ready ? "ready" : "not ready";
}

std::string key_capabilities(const BackendInspection& backend) {
  if (!backend.statement) return "-";
  std::string text;
  for (const std::string_view name : kKeyCapabilities) {
    const plan::Capability capability = backend.statement->capability(name);
    if (capability.grade == plan::Grade::unsupported) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, plan::to_string(capability.grade));
  }
  return text.empty() ? "-" : text;
}

// Why it can't be used and what to do, one line each.
std::string troubles(const std::vector<BackendInspection>& backends) {
  std::string text;
  const auto add = [&text](const std::string& id, const std::string& what, const std::string& hint) {
    text += fmt::format("{}: {}\n", id, what);
    if (!hint.empty()) text += fmt::format("{}: hint: {}\n", id, hint);
  };
  for (const BackendInspection& backend : backends) {
    const std::string& id = backend.found.id;
    if (backend.found.problem) add(id, backend.found.problem->message, backend.found.problem->hint);
    if (backend.probe_failure) add(id, backend.probe_failure->message, backend.probe_failure->hint);
    if (backend.probe && !backend.probe->ready) add(id, backend.probe->reason, backend.probe->hint);
  }
  return text;
}

std::string details(const BackendInspection& backend) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"  tier", backend.tier});
  if (backend.tier == "sandbox") {
    rows.push_back({"  library", backend.found.library});
    rows.push_back({"  sha256", backend.found.sha256});
  }
  if (backend.statement) {
    rows.push_back({"  locality", backend.statement->locality});
    rows.push_back({"  platforms", fmt::format("{}", fmt::join(backend.statement->platforms, " "))});
  }
  std::string text = fmt::format("\n{}\n", backend.found.id) + text_table(rows);
  if (!backend.statement) return text;
  rows.clear();
  for (const std::string_view name : plan::capability_names()) {
    const plan::Capability capability = backend.statement->capability(name);
    rows.push_back({fmt::format("  {}", name), std::string(plan::to_string(capability.grade)), capability.by,
                    capability.evidence});
  }
  return text + text_table(rows);
}

std::string as_text(const std::vector<BackendInspection>& backends, bool verbose) {
  std::vector<std::vector<std::string>> rows{{"BACKEND", "TIER", "STATE", "BOUNDARY", "CAPABILITIES"}};
  for (const BackendInspection& backend : backends) {
    rows.push_back({backend.found.id, backend.tier, readiness(backend),
                    backend.statement ? backend.statement->boundary : "-", key_capabilities(backend)});
  }
  std::string text = text_table(rows);
  if (const std::string why = troubles(backends); !why.empty()) text += "\n" + why;
  if (verbose) {
    for (const BackendInspection& backend : backends) text += details(backend);
  }
  return text;
}

class BackendsCommand final : public Command {
 public:
  std::string name() const override { return "backends"; }
  std::string summary() const override { return "List the backends, whether they are ready and what they can enforce"; }
  std::string examples() const override {
    return "  exechost backends\n"
           "  exechost backends --verbose\n"
           "  exechost backends --json | jq '.[].id'\n"
           "\n"
           "A grade says who enforces: kernel, provider, emulated (a helper of ours), advisory (nobody).";
  }
  void add_options(CLI::App& app) override {
    app.add_flag("--verbose", verbose_, "Every capability with the evidence for it");
    app.add_flag("--json", json_, "Statements and probes as a JSON array");
    add_values(app, "--set", set_, "Any setting, such as plugins.directories=[\"/opt/backends\"]; may be repeated")
        ->type_name("NAME=JSON");
    app.add_flag("--no-probe", no_probe_, "Only what is found; runs no plugin code");
  }

  int run(const CommandLine& /*line*/) override {
    HostOptions options;
    options.keeper = KeeperPlacement::in_process;
    const auto request = request_for(set_);
    if (!request) return fail(request.error());
    auto backends = host::inspect_backends(options, *request, !no_probe_);
    if (!backends) return fail(backends.error());
    if (json_) return print(host::backends_to_json(*backends).dump() + "\n");
    const int printed = print(as_text(*backends, verbose_));
    const bool any = std::any_of(backends->begin(), backends->end(),
                                 [](const BackendInspection& backend) { return backend.tier == "sandbox"; });
    if (any) return printed;
    print_note("no sandbox backend is installed; reinstall ExecHost: its plugins are missing");
    return 1;
  }

 private:
  static int fail(const Failure& failure) {
    print_failure(failure);
    return 1;
  }

  std::vector<std::string> set_;
  bool verbose_ = false;
  bool json_ = false;
  bool no_probe_ = false;
};

}  // namespace

std::unique_ptr<Command> make_backends_command() { return std::make_unique<BackendsCommand>(); }

}  // namespace exechost::cli

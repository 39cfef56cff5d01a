#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/doctor/check.hpp"
#include "core/cleanup/ledger.hpp"
#include "core/host/inspect.hpp"

namespace exechost::cli::doctor {
namespace {

HostOptions in_process() {
  HostOptions options;
  options.keeper = KeeperPlacement::in_process;
  return options;
}

Check from_failure(std::string name, const Failure& failure) {
  return fail(std::move(name), failure.message, failure.hint);
}

Check programs() {
  const auto installation = host::inspect_installation(in_process());
  if (!installation) return from_failure("programs", installation.error());
  return ok("programs", installation->prefix);
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<Check> settings_checks() {
  const auto settings = host::inspect_settings(in_process(), Request{});
  if (!settings) return {from_failure("settings", settings.error())};
  std::set<std::string> sources;
  for (const auto& [name, origin] : settings->origins()) {
    if (origin.scope != settings::Scope::built_in) sources.insert(origin.source);
  }
  std::string from;
  for (const std::string& source : sources) from += (from.empty() ? "" : ", ") + source;
  std::vector<Check> checks;
  checks.push_back(ok("settings", from.empty() ? "built-in values only" : "from " + from));
  for (const std::string& warning : settings->warnings())
    checks.push_back(warn("settings", warning, "see: exechost settings --show-origin"));
  return checks;
}

Check runtime_folder() {
  const auto ledger = cleanup::Ledger::open(cleanup::default_runtime_folder(own_environment()) + "/ledger");
  if (!ledger) return from_failure("runtime folder", ledger.error());
  return ok("runtime folder", ledger->folder());
}

Check backend_check(const host::BackendInspection& backend) {
  const std::string name = "backend " + backend.found.id;
  if (backend.found.problem) return from_failure(name, *backend.found.problem);
  if (backend.probe_failure) return from_failure(name, *backend.probe_failure);
  if (!backend.probe) return fail(name, "not probed", "see: exechost backends");
  if (!backend.probe->ready) return fail(name, backend.probe->reason, backend.probe->hint);
  return ok(name, backend.tier == "sandbox" ? fmt::format("ready ({})", backend.found.library) : "ready");
}

}  // namespace

std::vector<Check> installation_checks() {
  std::vector<Check> checks{programs()};
  for (Check& check : settings_checks()) checks.push_back(std::move(check));
  checks.push_back(runtime_folder());
  return checks;
}

std::vector<Check> backend_checks(const std::vector<std::string>& only, const Request& request) {
  const auto backends = host::inspect_backends(in_process(), request, true);
  if (!backends) return {from_failure("backends", backends.error())};
  const auto settings = host::inspect_settings(in_process(), request);
  const auto wanted_backend = settings ? settings->at("backend") : nlohmann::json();
  bool sandboxed = false;
  std::vector<Check> checks;
  std::set<std::string> found;
  for (const host::BackendInspection& backend : *backends) {
    found.insert(backend.found.id);
    sandboxed = sandboxed || backend.tier == "sandbox";
    if (!only.empty() && std::find(only.begin(), only.end(), backend.found.id) == only.end()) continue;
    Check check = backend_check(backend);
    // A backend nobody chose may be missing its daemon.
    const bool needed = !only.empty() || wanted_backend == backend.found.id;
    if (!needed && check.verdict == Verdict::fail) check.verdict = Verdict::warn;
    checks.push_back(std::move(check));
  }
  for (const std::string& id : only) {
    if (!found.contains(id))
      checks.push_back(fail("backend " + id, "there is no such backend", "see: exechost backends"));
  }
  if (!sandboxed)
    checks.push_back(
        fail("backends", "no sandbox backend is installed", "reinstall ExecHost: its plugins are missing"));
  return checks;
}

}  // namespace exechost::cli::doctor

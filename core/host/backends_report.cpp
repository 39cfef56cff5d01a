#include "core/host/backends_report.hpp"

#include <algorithm>
#include <utility>

#include "core/execution/result_json.hpp"
#include "core/gateway/statement.hpp"
#include "core/node/statement.hpp"
#include "core/plan/tier.hpp"

namespace exechost::host {

using nlohmann::json;

namespace {

BackendInspection node_tier() {
  BackendInspection inspection;
  inspection.tier = "node";
  inspection.found.id = plan::kLocalBackend;
  inspection.statement = node::statement();
  return inspection;
}

BackendInspection gateway_tier(bool probe) {
  BackendInspection inspection;
  inspection.tier = "gateway";
  inspection.found.id = plan::kGatewayBackend;
  inspection.statement = gateway::statement();
  if (probe) inspection.probe = gateway::probe();
  return inspection;
}

void ask_all(HostCore& core, const settings::Settings& settings, std::vector<BackendInspection>& backends) {
  std::vector<BackendInspection*> asked;
  std::vector<keeper::PluginChoice> choices;
  for (BackendInspection& backend : backends) {
    if (backend.found.problem) continue;
    asked.push_back(&backend);
    choices.push_back(plugin_choice(settings, backend.found.id, backend.found.library));
  }
  auto outcomes = core.probes().get(choices);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    BackendInspection& inspection = *asked[i];
    if (!outcomes[i]) {
      inspection.probe_failure = std::move(outcomes[i].error());
      continue;
    }
    inspection.probe = std::move(*outcomes[i]);
    if (inspection.statement) inspection.statement = plan::combine(*inspection.statement, *inspection.probe);
  }
}

}  // namespace

Result<std::vector<BackendInspection>> look_at_backends(HostCore& core, const Request& request, bool probe) {
  auto resolved = core.planner().resolve(request);
  if (!resolved) return unexpected(resolved.error());
  std::vector<BackendInspection> backends;
  for (const plugin::Found& found : *resolved->plugins) {
    if (found.id == plan::kLocalBackend) continue;  // no plugin is the node tier
    BackendInspection inspection;
    inspection.found = found;
    if (found.manifest) inspection.statement = found.manifest->statement;
    backends.push_back(std::move(inspection));
  }
  std::stable_sort(backends.begin(), backends.end(),
                   [](const BackendInspection& a, const BackendInspection& b) { return a.found.id < b.found.id; });
  backends.push_back(node_tier());
  if (probe) ask_all(core, *resolved->settings, backends);
  backends.push_back(gateway_tier(probe));
  return backends;
}

json backends_to_json(const std::vector<BackendInspection>& backends) {
  json list = json::array();
  for (const BackendInspection& backend : backends) {
    const plugin::Found& found = backend.found;
    const std::optional<Failure>& problem = found.problem ? found.problem : backend.probe_failure;
    json entry = {{"id", found.id}, {"tier", backend.tier}};
    entry["library"] = backend.tier == "sandbox" ? json(found.library) : json(nullptr);
    entry["sha256"] = backend.tier == "sandbox" ? json(found.sha256) : json(nullptr);
    entry["version"] = found.manifest ? json(found.manifest->version) : json(nullptr);
    entry["summary"] = found.manifest ? json(found.manifest->summary) : json(nullptr);
    entry["ready"] = backend.probe ? json(backend.probe->ready) : problem ? json(false) : json(nullptr);
    entry["reason"] = backend.probe && !backend.probe->ready ? json(backend.probe->reason) : json(nullptr);
    entry["hint"] = backend.probe && !backend.probe->ready ? json(backend.probe->hint) : json(nullptr);
    entry["statement"] = backend.statement ? plan::to_json(*backend.statement) : json(nullptr);
    entry["problem"] = problem ? execution::to_json(*problem) : json(nullptr);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace exechost::host

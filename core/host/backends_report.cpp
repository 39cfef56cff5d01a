#include "core/host/backends_report.hpp"

#include <algorithm>
#include <utility>

#include "core/execution/result_json.hpp"

namespace exechost::host {

using nlohmann::json;

Result<std::vector<BackendInspection>> look_at_backends(HostCore& core, const Request& request, bool probe) {
  auto resolved = core.planner().resolve(request);
  if (!resolved) return unexpected(resolved.error());
  std::vector<BackendInspection> backends;
  std::vector<std::size_t> asked;
  std::vector<keeper::PluginChoice> choices;
  for (const plugin::Found& found : *resolved->plugins) {
    BackendInspection inspection;
    inspection.found = found;
    if (found.manifest) inspection.statement = found.manifest->statement;
    if (probe && !found.problem) {
      asked.push_back(backends.size());
      choices.push_back(plugin_choice(*resolved->settings, found.id, found.library));
    }
    backends.push_back(std::move(inspection));
  }
  auto outcomes = core.probes().get(choices);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    BackendInspection& inspection = backends[asked[i]];
    if (!outcomes[i]) {
      inspection.probe_failure = std::move(outcomes[i].error());
      continue;
    }
    inspection.probe = std::move(*outcomes[i]);
    if (inspection.statement) inspection.statement = plan::combine(*inspection.statement, *inspection.probe);
  }
  std::stable_sort(backends.begin(), backends.end(),
                   [](const BackendInspection& a, const BackendInspection& b) { return a.found.id < b.found.id; });
  return backends;
}

json backends_to_json(const std::vector<BackendInspection>& backends) {
  json list = json::array();
  for (const BackendInspection& backend : backends) {
    const plugin::Found& found = backend.found;
    const std::optional<Failure>& problem = found.problem ? found.problem : backend.probe_failure;
    json entry = {{"id", found.id}, {"library", found.library}, {"sha256", found.sha256}};
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

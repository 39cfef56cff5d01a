// What the installed backends say about themselves and this machine.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/host/host_core.hpp"
#include "core/host/inspect.hpp"
#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::host {

// Every backend found, by id, then the node and the gateway tier; probed (all of them) when asked. Not on the reactor
// thread.
Result<std::vector<BackendInspection>> look_at_backends(HostCore& core, const Request& request, bool probe);

// [{"id", "tier", "version", "summary", "library", "sha256", "ready", "reason", "hint", "statement",
// "problem"}]
nlohmann::json backends_to_json(const std::vector<BackendInspection>& backends);

}  // namespace exechost::host

// What the command line shows beside running: settings with their origins, the backends found
// and what they say, and the schemas of the documents. Stateless; safe to call from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/host/installation.hpp"
#include "core/plan/capability.hpp"
#include "core/plugin/registry.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"
#include "exechost/host.hpp"
#include "exechost/request.hpp"

namespace exechost::host {

// The settings in force for `request` as ExecHost::run would resolve them, every leaf with its
// origin (Request::settings_origins names the origin of overrides, e.g. "--backend").
// `invalid_request` names the setting, its value and the rule.
Result<settings::Settings> inspect_settings(const HostOptions& options, const Request& request);

// The files settings are read from, weakest scope first; existing or not.
settings::Locations inspect_locations(const HostOptions& options, const Request& request);

struct BackendInspection {
  std::string tier = "sandbox";  // or "node", "gateway": those two are part of ExecHost, no library
  plugin::Found found;           // found.problem: why it can't be used
  std::optional<plan::Statement>
      statement;                         // combined: the weaker of manifest and probe; without a probe the manifest's
  std::optional<plan::Probe> probe;      // what holds on this machine now
  std::optional<Failure> probe_failure;  // the probe itself failed (crashed, timed out, broke the ABI)
};

// Every backend found in the installation's and the settings' plugin folders, by id; then what the node
// and the gateway tier are. `probe` false:
// no plugin code runs. Probing starts a keeper by `options.keeper` and takes a few seconds at most.
Result<std::vector<BackendInspection>> inspect_backends(const HostOptions& options, const Request& request,
                                                        bool probe = true);

// Programs and plugin folders in use for these options.
Result<Installation> inspect_installation(const HostOptions& options);

// The JSON Schema of a document: "settings", "plan", "result", "capability", "open".
// `invalid_request` lists the names.
Result<std::string> schema_text(std::string_view name);
const std::vector<std::string_view>& schema_names();

}  // namespace exechost::host

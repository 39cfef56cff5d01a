#include "core/host/inspect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/host/backends_report.hpp"
#include "core/host/host_core.hpp"
#include "embedded/schema_text_capability.hpp"
#include "embedded/schema_text_open.hpp"
#include "embedded/schema_text_plan.hpp"
#include "embedded/schema_text_result.hpp"

namespace exechost::host {

Result<settings::Settings> inspect_settings(const HostOptions& options, const Request& request) {
  HostCore core(options);
  auto resolved = core.planner().resolve(request);
  if (!resolved) return unexpected(resolved.error());
  return *resolved->settings;
}

settings::Locations inspect_locations(const HostOptions& options, const Request& request) {
  HostCore core(options);
  return core.planner().locations(request);
}

Result<std::vector<BackendInspection>> inspect_backends(const HostOptions& options, const Request& request,
                                                        bool probe) {
  HostCore core(options);
  return look_at_backends(core, request, probe);
}

Result<Installation> inspect_installation(const HostOptions& options) { return find_installation(options.prefix); }

const std::vector<std::string_view>& schema_names() {
  static const std::vector<std::string_view> names{"settings", "plan", "result", "capability", "open"};
  return names;
}

Result<std::string> schema_text(std::string_view name) {
  if (name == "settings") return settings::schema().dump(2);
  if (name == "plan") return std::string(embedded::schema_text_plan);
  if (name == "result") return std::string(embedded::schema_text_result);
  if (name == "capability") return std::string(embedded::schema_text_capability);
  if (name == "open") return std::string(embedded::schema_text_open);
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = fmt::format("there is no schema \"{}\"", name);
  failure.hint = fmt::format("the schemas are {}", fmt::join(schema_names(), ", "));
  return unexpected(std::move(failure));
}

}  // namespace exechost::host

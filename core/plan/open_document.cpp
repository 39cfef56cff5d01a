// The document a backend's open gets. Its shape is a contract: sdk/schemas/open.schema.json.
#include <array>

#include "core/base/utf8.hpp"
#include "core/plan/plan.hpp"

namespace exechost::plan {
namespace {

using nlohmann::json;

constexpr const char* kGuestInside = "/run/exechost/guest";
// What an environment may need before a command is in it; the command gets all of its own.
constexpr std::array<const char*, 5> kOfTheEnvironment{"PATH", "HOME", "TMPDIR", "LANG", "TZ"};

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json view_for_backend(const View& view) {
  json entries = json::array();
  for (const ViewEntry& entry : view.entries) {
    json value{{"path", entry.path}, {"access", std::string(to_string(entry.access))}};
    if (!entry.source.empty()) value["source"] = entry.source;
    if (entry.access == Access::private_) value["size"] = entry.size_bytes;
    entries.push_back(std::move(value));
  }
  return entries;
}

}  // namespace

json open_document(const Plan& plan, const OpenIdentity& identity) {
  json environment = json::object();
  for (const char* name : kOfTheEnvironment) {
    const auto found = plan.environment.find(name);
    if (found != plan.environment.end() && is_valid_utf8(found->second)) environment[name] = found->second;
  }
  json init = nullptr;
  if (plan.guest != GuestEntry::none) init = {{"source", identity.guest_path}, {"target", kGuestInside}};
  return {{"schema", 1},
          {"id", identity.id},
          {"name", identity.name},
          {"labels", identity.labels},
          {"deadline_ns", identity.deadline_ns},
          {"image", plan.image},
          {"cpu", or_null(plan.resources.cpu)},
          {"memory", or_null(plan.resources.memory_bytes)},
          {"disk", or_null(plan.resources.disk_bytes)},
          {"pids", or_null(plan.resources.pids)},
          {"persistent", plan.persistent},
          {"workspace", {{"path", plan.workspace}, {"mode", plan.workspace_mode}}},
          {"view", view_for_backend(plan.view)},
          {"network",
           {{"mode", plan.network.mode},
            {"allowed_domains", plan.network.allowed_domains},
            {"denied_domains", plan.network.denied_domains}}},
          {"environment", std::move(environment)},
          {"init", std::move(init)},
          {"settings", plan.backend_settings}};
}

}  // namespace exechost::plan

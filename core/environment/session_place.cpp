#include "core/environment/session_place.hpp"

#include <utility>
#include <vector>

#include "core/plan/plan.hpp"

namespace exechost::environment {
namespace {

using nlohmann::json;

std::string bytes_of(const json& value) {
  const std::vector<std::uint8_t> cbor = json::to_cbor(value);
  return {cbor.begin(), cbor.end()};
}

json binary(const std::string& path) { return json::binary({path.begin(), path.end()}); }

json confinement_of(const plan::Confinement& confinement) {
  json rules = json::array();
  for (const auto& rule : confinement.landlock_rules) rules.push_back({binary(rule.path), rule.writable});
  return {confinement.none, confinement.seccomp_profile, confinement.landlock, std::move(rules)};
}

}  // namespace

std::map<std::string, keeper::PlacePart> place_parts(const EnvironmentRequest& request) {
  plan::OpenIdentity nobody;
  nobody.guest_path = request.guest_path;
  const plan::Plan& plan = *request.plan;
  const json document = plan::open_document(plan, nobody);
  std::map<std::string, keeper::PlacePart> parts;
  const auto add = [&parts](const std::string& name, const json& value, std::string shown = {}) {
    parts[name] = {bytes_of(value), std::move(shown)};
  };
  add("tier", plan.tier, plan.tier);
  add("backend", {request.plugin.id, binary(request.plugin.library)}, request.plugin.id);
  add("settings of the backend", request.plugin.settings);
  add("image", document.at("image"), plan.image);
  for (const char* limit : {"cpu", "memory", "disk", "pids"}) {
    add(limit, document.at(limit), document.at(limit).is_null() ? "none" : document.at(limit).dump());
  }
  add("workspace", plan.workspace, plan.workspace);
  add("workspace.mode", document.at("workspace"), plan.workspace_copy.empty() ? "direct" : "copy");
  add("network", document.at("network"), plan.network.mode);
  add("program of the guest", document.at("init"));
  add("confinement", confinement_of(plan.confinement));
  for (const plan::ViewEntry& entry : plan.view.entries) {
    add(entry.path, {std::string(to_string(entry.access)), binary(entry.source), entry.size_bytes},
        std::string(to_string(entry.access)));
  }
  for (const plan::ViewCheck& check : plan.confinement.view_checks) {
    add("what is at " + check.path, {check.device, check.inode, check.same});
  }
  return parts;
}

std::vector<std::string> writable_places(const plan::Plan& plan) {
  std::vector<std::string> places;
  for (const plan::ViewEntry& entry : plan.view.entries) {
    if (entry.access == plan::Access::rw) places.push_back(entry.source.empty() ? entry.path : entry.source);
  }
  // Earlier runs may have written it directly.
  places.push_back(plan.workspace);
  return places;
}

std::string place_of(const EnvironmentRequest& request) {
  plan::OpenIdentity nobody;
  json place = json::array({request.plan->session, plan::open_document(*request.plan, nobody).at("environment")});
  for (const auto& [name, part] : place_parts(request)) place.push_back({binary(name), binary(part.value)});
  return bytes_of(place);
}

}  // namespace exechost::environment

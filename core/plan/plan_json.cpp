// A plan as JSON: sdk/schemas/plan.schema.json.
#include <algorithm>

#include "core/base/base64.hpp"
#include "core/base/utf8.hpp"
#include "core/plan/environment.hpp"
#include "core/plan/plan.hpp"

namespace exechost::plan {
namespace {

using nlohmann::json;

json failure_json(const Failure& failure) {
  return {{"kind", std::string(to_string(failure.kind))}, {"phase", std::string(to_string(failure.phase))},
          {"message", to_valid_utf8(failure.message)},    {"hint", to_valid_utf8(failure.hint)},
          {"backend", to_valid_utf8(failure.backend)},    {"errno", failure.error_number}};
}

// What a report holds is JSON text; here it is JSON.
json parsed(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

json reports_json(const std::vector<SettingReport>& reports) {
  json list = json::array();
  for (const SettingReport& report : reports) {
    list.push_back({{"name", report.name},
                    {"requested", parsed(report.requested)},
                    {"effective", parsed(report.effective)},
                    {"grade", report.grade},
                    {"enforced_by", report.enforced_by},
                    {"origin", to_valid_utf8(report.origin)}});
  }
  return list;
}

json confinement_json(const Confinement& confinement) {
  json rules = json::array();
  for (const LandlockRule& rule : confinement.landlock_rules) {
    rules.push_back({{"path", rule.path}, {"writable", rule.writable}});
  }
  json limits = json::array();
  for (const Rlimit& limit : confinement.rlimits) {
    limits.push_back({{"resource", limit.resource}, {"value", limit.value}});
  }
  return {{"none", confinement.none},           {"seccomp_profile", confinement.seccomp_profile},
          {"landlock", confinement.landlock},   {"landlock_required", confinement.landlock_required},
          {"landlock_rules", std::move(rules)}, {"rlimits", std::move(limits)}};
}

std::vector<std::string> all_valid(const std::vector<std::string>& texts) {
  std::vector<std::string> valid(texts.size());
  std::transform(texts.begin(), texts.end(), valid.begin(),
                 [](const std::string& text) { return to_valid_utf8(text); });
  return valid;
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

void add_argv(json& document, const std::vector<std::string>& argv) {
  document["argv"] = all_valid(argv);
  if (std::all_of(argv.begin(), argv.end(), [](const std::string& argument) { return is_valid_utf8(argument); }))
    return;
  json exact = json::array();
  for (const std::string& argument : argv) exact.push_back(base64_encode(argument));
  document["argv_base64"] = std::move(exact);
}

// Secrets become null, at any depth: "proxy.password" names /proxy/password.
json shown_settings(json settings, const std::vector<std::string>& secrets) {
  for (std::string pointer : secrets) {
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const json::json_pointer place("/" + pointer);
    if (settings.contains(place)) settings[place] = nullptr;
  }
  return settings;
}

json degraded_json(const std::optional<Degraded>& degraded) {
  if (!degraded) return nullptr;
  return {
      {"wanted", degraded->wanted}, {"reason", failure_json(degraded->reason)}, {"lost", all_valid(degraded->lost)}};
}

}  // namespace

json to_json(const Plan& plan) {
  json environment = json::object();
  for (const auto& [name, value] : plan.environment) {
    environment[to_valid_utf8(name)] = may_be_shown(name) ? json(to_valid_utf8(value)) : json(nullptr);
  }
  json candidates = json::array();
  for (const Candidate& candidate : plan.candidates) {
    candidates.push_back({{"backend", to_valid_utf8(candidate.backend)},
                          {"rejected", candidate.rejected ? failure_json(*candidate.rejected) : json(nullptr)}});
  }
  json document{
      {"schema", 1},
      {"tier", plan.tier},
      {"backend", plan.backend},
      {"backend_library", to_valid_utf8(plan.backend_library)},
      {"backend_library_sha256", plan.backend_library_sha256},
      {"profile", plan.profile},
      {"session", plan.session},
      {"persistent", plan.persistent},
      {"cwd", plan.cwd},
      {"environment", std::move(environment)},
      {"removed_environment", all_valid(plan.removed_environment)},
      {"tty", plan.tty},
      {"shell_state", plan.shell.has_value()},
      {"workspace", {{"path", plan.workspace}, {"mode", plan.workspace_mode}}},
      {"view", to_json(plan.view)},
      {"network",
       {{"mode", plan.network.mode},
        {"allowed_domains", plan.network.allowed_domains},
        {"denied_domains", plan.network.denied_domains}}},
      {"confinement", confinement_json(plan.confinement)},
      {"resources",
       {{"cpu", or_null(plan.resources.cpu)},
        {"memory", or_null(plan.resources.memory_bytes)},
        {"disk", or_null(plan.resources.disk_bytes)},
        {"pids", or_null(plan.resources.pids)}}},
      {"output", {{"cap", plan.output.cap_bytes}, {"spill", plan.output.spill}}},
      {"timeout_ms", plan.timeout ? json(plan.timeout->count()) : json(nullptr)},
      {"kill_grace_ms", plan.kill_grace.count()},
      {"image", plan.image},
      {"backend_settings", shown_settings(plan.backend_settings, plan.secret_backend_settings)},
      {"guest", plan.guest != GuestEntry::none},
      {"settings", reports_json(plan.settings)},
      {"isolation", plan.isolation},
      {"candidates", std::move(candidates)},
      {"on_unavailable", plan.on_unavailable},
      {"degraded", degraded_json(plan.degraded)},
      {"fallback", plan.fallback},
      {"warnings", all_valid(plan.warnings)},
  };
  add_argv(document, plan.argv);
  return document;
}

}  // namespace exechost::plan

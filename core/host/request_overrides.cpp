#include "core/host/request_overrides.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/plan/report.hpp"
#include "core/settings/strict_json.hpp"

namespace exechost::host {
namespace {

using nlohmann::json;

Failure invalid(std::string message, std::string hint) {
  return plan::plan_failure(FailureKind::invalid_request, std::move(message), std::move(hint));
}

// One field of the request, as the setting that it is.
Result<void> put(json& overrides, std::string_view field, const std::string& pointer, json value) {
  const json::json_pointer place(pointer);
  if (overrides.contains(place) && overrides.at(place) != value) {
    return unexpected(
        invalid(fmt::format("settings_json and the request's {} say different things about {}", field, pointer),
                "give it in one place only"));
  }
  const json::json_pointer parent = place.parent_pointer();
  if (!parent.empty() && overrides.contains(parent) && !overrides.at(parent).is_object()) {
    return unexpected(invalid(fmt::format("settings_json: {} must be an object", parent.to_string()), ""));
  }
  overrides[place] = std::move(value);
  return {};
}

}  // namespace

Result<json> request_overrides(const Request& request) {
  json overrides = json::object();
  if (!request.settings_json.empty()) {
    auto parsed = settings::parse_json_strict(request.settings_json, "settings_json");
    if (!parsed) return parsed;
    if (!parsed->is_object())
      return unexpected(invalid("settings_json must be a JSON object", R"(for example {"backend":"bwrap"})"));
    overrides = std::move(*parsed);
  }
  Result<void> done;
  const auto add = [&](std::string_view field, const std::string& pointer, const std::optional<std::string>& value) {
    if (done && value) done = put(overrides, field, pointer, *value);
  };
  add("tier", "/tier", request.tier);
  add("backend", "/backend", request.backend);
  add("profile", "/profile", request.profile);
  add("session", "/session/name", request.session);
  add("workspace", "/workspace/path", request.workspace);
  if (done && request.timeout) {
    done = put(overrides, "timeout", "/resources/timeout", fmt::format("{}ms", request.timeout->count()));
  }
  if (!done) return unexpected(done.error());
  return overrides;
}

}  // namespace exechost::host

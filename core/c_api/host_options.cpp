#include "core/c_api/host_options.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/settings/strict_json.hpp"

namespace exechost::c_api {
namespace {

using nlohmann::json;

Failure invalid(std::string message) {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = std::move(message);
  failure.hint = "the options are described beside exechost_host_create in exechost/exechost.h";
  return failure;
}

Result<void> take_text(const std::string& name, const json& value, std::string& into) {
  if (!value.is_string()) return unexpected(invalid(fmt::format("{}: {} is not text", name, value.dump())));
  into = value.get<std::string>();
  return {};
}

Result<void> take_keeper(const json& value, KeeperPlacement& into) {
  if (value == "child") {
    into = KeeperPlacement::child;
  } else if (value == "in_process") {
    into = KeeperPlacement::in_process;
  } else {
    return unexpected(invalid(fmt::format(R"(keeper: {} is neither "child" nor "in_process")", value.dump())));
  }
  return {};
}

Result<void> take_environment(const json& value, std::optional<std::map<std::string, std::string>>& into) {
  if (!value.is_object()) return unexpected(invalid("environment: must be an object of texts"));
  std::map<std::string, std::string> variables;
  for (const auto& [name, text] : value.items()) {
    if (auto taken = take_text("environment." + name, text, variables[name]); !taken) return taken;
  }
  into = std::move(variables);
  return {};
}

Result<void> take(const std::string& name, const json& value, HostOptions& options) {
  if (name == "keeper") return take_keeper(value, options.keeper);
  if (name == "environment") return take_environment(value, options.environment);
  if (name == "workspace") return take_text(name, value, options.workspace);
  if (name == "system_config_dir") return take_text(name, value, options.system_config_dir);
  if (name == "user_config_dir") return take_text(name, value, options.user_config_dir);
  if (name == "prefix") return take_text(name, value, options.prefix);
  return unexpected(invalid(fmt::format("\"{}\" is not an option of a host", name)));
}

}  // namespace

Result<HostOptions> parse_host_options(std::string_view text) {
  HostOptions options;
  if (text.empty()) return options;
  const auto parsed = settings::parse_json_strict(text, "options");
  if (!parsed) return unexpected(parsed.error());
  if (!parsed->is_object()) return unexpected(invalid("the options are not a JSON object"));
  for (const auto& [name, value] : parsed->items()) {
    if (auto taken = take(name, value, options); !taken) return unexpected(taken.error());
  }
  return options;
}

}  // namespace exechost::c_api

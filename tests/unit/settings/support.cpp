#include "support.hpp"

#include <gtest/gtest.h>

namespace exechost::settings::test {

using nlohmann::json;

Result<Settings> resolve(const Case& given) {
  Sources sources;
  const std::pair<Scope, const json*> files[] = {{Scope::system, &given.system},
                                                 {Scope::user, &given.user},
                                                 {Scope::project, &given.project},
                                                 {Scope::managed, &given.managed}};
  for (const auto& [scope, values] : files) {
    if (!values->is_null()) sources.files.push_back({scope, std::string(to_string(scope)) + ".json", *values});
  }
  sources.environment = given.environment;
  sources.request = given.request;
  sources.request_sources = given.request_sources;
  sources.plugins = given.plugins;
  return settings::resolve(sources);
}

Settings resolved(const Case& given) {
  auto result = resolve(given);
  if (result) return *result;
  ADD_FAILURE() << result.error().message;
  return {};
}

std::string failure_of(const Case& given) {
  const auto result = resolve(given);
  if (result) return "";
  EXPECT_EQ(result.error().kind, FailureKind::invalid_request);
  EXPECT_EQ(result.error().phase, Phase::plan);
  return result.error().message;
}

json at(const std::string& dotted, json value) {
  std::string rest = dotted;
  while (true) {
    const std::size_t dot = rest.rfind('.');
    value = json{{dot == std::string::npos ? rest : rest.substr(dot + 1), std::move(value)}};
    if (dot == std::string::npos) return value;
    rest.resize(dot);
  }
}

PluginSettings plugin() {
  return {"firecracker", json::parse(R"({
    "type": "object",
    "properties": {
      "kernel": {"type": "string", "default": "vmlinux"},
      "vcpus": {"type": "integer", "minimum": 1, "default": 1},
      "offset": {"type": "integer"},
      "ratio": {"type": "number"},
      "debug": {"type": "boolean", "default": false},
      "disk_size": {"type": ["string", "integer"], "x-kind": "size", "default": "1GiB"},
      "boot_timeout": {"type": ["string", "number"], "x-kind": "duration"},
      "volumes": {"type": "array", "items": {"type": "string"}},
      "labels": {"type": "object", "additionalProperties": {"type": "string"}},
      "api_token": {"type": "string", "minLength": 20, "x-secret": true, "x-env": ["FC_TOKEN", "TERMINAL_FC_TOKEN"]},
      "net": {"type": "object", "additionalProperties": false, "properties": {"bridge": {"$ref": "#/$defs/name"}}}
    },
    "$defs": {"name": {"type": "string", "pattern": "^[a-z0-9]+$"}}
  })")};
}

}  // namespace exechost::settings::test

// Short ways to say "these documents, variables and options" and to look at what came out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/settings/settings.hpp"

namespace exechost::settings::test {

struct Case {
  nlohmann::json system = nullptr;
  nlohmann::json user = nullptr;
  nlohmann::json project = nullptr;
  nlohmann::json managed = nullptr;
  std::map<std::string, std::string> environment = {};
  nlohmann::json request = nlohmann::json::object();
  std::map<std::string, std::string> request_sources = {};
  std::vector<PluginSettings> plugins = {};
};

Result<Settings> resolve(const Case& given);
// Resolves and stops the test when that fails.
Settings resolved(const Case& given);
// The message of the failure, "" when there is none.
std::string failure_of(const Case& given);

// {"a.b": value} as {"a": {"b": value}}.
nlohmann::json at(const std::string& dotted, nlohmann::json value);

// A third party's backend with settings of every type.
PluginSettings plugin();

}  // namespace exechost::settings::test

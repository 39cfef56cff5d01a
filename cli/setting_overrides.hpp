// Settings given on the command line, gathered into the JSON object a request carries, each with
// the option that named it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::cli {

class SettingOverrides {
 public:
  // `dotted`: "resources.memory"; `source`: the option, for messages. invalid_request when another
  // option has set the same thing (or something above or below it) already.
  Result<void> set(std::string_view dotted, nlohmann::json value, const std::string& source);
  // "NAME=JSON", as --set takes it.
  Result<void> set_from_text(std::string_view assignment, const std::string& source);

  bool has(std::string_view dotted) const;
  const nlohmann::json& values() const { return values_; }
  // JSON pointer -> option.
  const std::map<std::string, std::string>& sources() const { return sources_; }

 private:
  nlohmann::json values_ = nlohmann::json::object();
  std::map<std::string, std::string> sources_;
};

// A request without a command, for what --set alone says ("NAME=JSON" each).
Result<Request> request_for(const std::vector<std::string>& assignments);

// invalid_request in phase plan.
Failure usage_failure(std::string message, std::string hint = {});

}  // namespace exechost::cli

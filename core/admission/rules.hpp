// The settings that decide about admission, as values.
#pragma once

#include <string>
#include <vector>

#include "core/settings/settings.hpp"

namespace exechost::admission {

// From strict to loose.
enum class Security { deny, allowlist, full };
enum class Ask { off, on_miss, always };

// For one tier.
struct TierRules {
  Security security = Security::allowlist;
  Ask ask = Ask::on_miss;
  std::vector<std::vector<std::string>> allow;  // commands word by word
  std::string security_origin = "built-in";     // where each comes from, for messages
  std::string ask_origin = "built-in";
  std::string allow_origin = "built-in";
};

// What holds for one request. The sandbox tier has no rules of its own: its boundary protects.
struct Rules {
  TierRules node;
};

Rules rules_from(const settings::Settings& settings);

}  // namespace exechost::admission

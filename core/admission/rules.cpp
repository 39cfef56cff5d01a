#include "core/admission/rules.hpp"

#include <nlohmann/json.hpp>

#include "core/plan/settings_access.hpp"

namespace exechost::admission {
namespace {

using nlohmann::json;

// A word that is none of those known reads as the strictest.
Security security_from(const std::string& word) {
  if (word == "full") return Security::full;
  return word == "allowlist" ? Security::allowlist : Security::deny;
}

Ask ask_from(const std::string& word) {
  if (word == "off") return Ask::off;
  return word == "on_miss" ? Ask::on_miss : Ask::always;
}

TierRules tier_rules(const settings::Settings& settings, const std::string& group) {
  TierRules rules;
  rules.security = security_from(plan::text_setting(settings, group + ".security"));
  rules.ask = ask_from(plan::text_setting(settings, group + ".ask"));
  rules.security_origin = plan::origin_text(settings, group + ".security");
  rules.ask_origin = plan::origin_text(settings, group + ".ask");
  rules.allow_origin = plan::origin_text(settings, group + ".allow");
  const json& allow = settings.at(group + ".allow");
  if (!allow.is_array()) return rules;
  for (const json& command : allow) {
    // The schema has checked that these are lists of texts.
    if (command.is_array()) rules.allow.push_back(command.get<std::vector<std::string>>());
  }
  return rules;
}

}  // namespace

Rules rules_from(const settings::Settings& settings) { return {tier_rules(settings, "admission.node")}; }

}  // namespace exechost::admission

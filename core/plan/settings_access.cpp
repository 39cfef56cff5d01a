#include "core/plan/settings_access.hpp"

#include <algorithm>

namespace exechost::plan {

std::string text_setting(const settings::Settings& settings, std::string_view name, std::string_view absent) {
  const nlohmann::json& value = settings.at(name);
  return value.is_string() ? value.get<std::string>() : std::string(absent);
}

bool flag_setting(const settings::Settings& settings, std::string_view name, bool absent) {
  const nlohmann::json& value = settings.at(name);
  return value.is_boolean() ? value.get<bool>() : absent;
}

std::optional<std::uint64_t> count_setting(const settings::Settings& settings, std::string_view name) {
  const nlohmann::json& value = settings.at(name);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0) return value.get<std::uint64_t>();
  return std::nullopt;
}

std::vector<std::string> list_setting(const settings::Settings& settings, std::string_view name) {
  std::vector<std::string> items;
  const nlohmann::json& value = settings.at(name);
  if (!value.is_array()) return items;
  for (const nlohmann::json& item : value) {
    if (item.is_string()) items.push_back(item.get<std::string>());
  }
  return items;
}

bool is_best_effort(const settings::Settings& settings, std::string_view name) {
  const std::vector<std::string> names = list_setting(settings, "best_effort");
  return std::any_of(names.begin(), names.end(), [&](const std::string& item) {
    return item == "*" || item == name || name.starts_with(item + '.');
  });
}

std::string origin_text(const settings::Settings& settings, std::string_view name) {
  const settings::Origin origin = settings.origin(name);
  return origin.source.empty() ? std::string(settings::to_string(origin.scope)) : origin.source;
}

}  // namespace exechost::plan

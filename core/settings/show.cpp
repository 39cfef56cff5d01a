#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/settings/merge.hpp"
#include "core/settings/settings.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

struct Shown {
  std::string name;
  const json* value;
  Presentation presentation;
  Origin origin;
};

void collect(const Settings& settings, const json& value, const std::string& name, std::vector<Shown>& rows) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items())
      collect(settings, member, name.empty() ? key : name + "." + key, rows);
    return;
  }
  const auto known = settings.presentations().find(name);
  rows.push_back(
      {name, &value, known == settings.presentations().end() ? Presentation{} : known->second, settings.origin(name)});
}

std::vector<Shown> rows_of(const Settings& settings) {
  std::vector<Shown> rows;
  for (const auto& [key, value] : settings.values().items()) collect(settings, value, key, rows);
  return rows;
}

std::string origin_text(const Origin& origin) {
  if (origin.scope == Scope::built_in) return "built-in";
  const std::string scope(to_string(origin.scope));
  return origin.source.empty() || origin.source == scope ? scope : scope + ": " + escape_for_terminal(origin.source);
}

}  // namespace

std::string show_origin(const Settings& settings) {
  const auto rows = rows_of(settings);
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  std::vector<std::string> values;
  for (const Shown& row : rows) {
    values.push_back(shown_setting(*row.value, row.presentation));
    name_width = std::max(name_width, row.name.size());
    value_width = std::max(value_width, std::min<std::size_t>(values.back().size(), 40));
  }
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", escape_for_terminal(rows[i].name), name_width, values[i], value_width,
                        origin_text(rows[i].origin));
  }
  for (const std::string& warning : settings.warnings()) text += "warning: " + escape_for_terminal(warning) + "\n";
  return text;
}

json origins_json(const Settings& settings) {
  json list = json::array();
  for (const Shown& row : rows_of(settings)) {
    json entry{{"name", row.name},
               {"value", row.presentation.secret ? json() : *row.value},
               {"scope", to_string(row.origin.scope)},
               {"source", row.origin.source}};
    if (row.presentation.secret) entry["secret"] = true;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace exechost::settings

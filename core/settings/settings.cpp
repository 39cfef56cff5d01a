#include "core/settings/settings.hpp"

#include <algorithm>
#include <array>

#include "core/settings/schema_tree.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

// A setting that is null has no value: whoever reads the settings must not meet it.
json without_nulls(const json& object) {
  json kept = json::object();
  for (const auto& [name, value] : object.items()) {
    if (!value.is_null()) kept[name] = value.is_object() ? without_nulls(value) : value;
  }
  return kept;
}

}  // namespace

std::string_view to_string(Scope scope) {
  constexpr std::array<std::string_view, 8> kNames{"built-in", "system",      "user",    "project",
                                                   "profile",  "environment", "request", "managed"};
  return kNames.at(static_cast<std::size_t>(scope));
}

const json& Settings::at(std::string_view dotted) const {
  static const json kNone;
  const json* node = &values_;
  while (true) {
    const std::size_t end = std::min(dotted.find('.'), dotted.size());
    if (!node->is_object()) return kNone;
    const auto member = node->find(dotted.substr(0, end));
    if (member == node->end()) return kNone;
    node = &*member;
    if (end == dotted.size()) return *node;
    dotted.remove_prefix(end + 1);
  }
}

json Settings::backend_settings(std::string_view backend) const {
  const json& values = at("backends." + std::string(backend));
  return values.is_object() ? without_nulls(values) : json::object();
}

Origin Settings::origin(std::string_view dotted) const {
  const std::string name(dotted);
  if (const auto exact = origins_.find(name); exact != origins_.end()) return exact->second;
  Origin strongest{Scope::built_in, "built-in"};
  const std::string prefix = name + ".";
  for (auto member = origins_.lower_bound(prefix); member != origins_.end(); ++member) {
    if (!member->first.starts_with(prefix)) break;
    if (member->second.scope > strongest.scope) strongest = member->second;
  }
  return strongest;
}

const json& schema() { return core_schema().document(); }

}  // namespace exechost::settings

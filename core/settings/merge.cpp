#include "core/settings/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/settings/project_rule.hpp"
#include "core/settings/text.hpp"
#include "core/settings/units.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

json united(const json& before, const json& more) {
  json all = before.is_array() ? before : json::array();
  for (const json& item : more) {
    if (std::find(all.begin(), all.end(), item) == all.end()) all.push_back(item);
  }
  return all;
}

bool of_a_file(Scope scope) { return scope == Scope::system || scope == Scope::user || scope == Scope::project; }
bool of_the_moment(Scope scope) {
  return scope == Scope::profile || scope == Scope::environment || scope == Scope::request;
}

}  // namespace

Presentation presentation_of(const SchemaTree::Node& node) {
  const std::string kind = node.word("x-kind");
  return {kind == "size" || kind == "duration" ? kind : "", node.flag("x-secret")};
}

std::string shown_setting(const json& value, const Presentation& presentation) {
  if (presentation.secret) return "(secret)";
  if (value.is_null()) return "none";
  if (presentation.kind == "size" && value.is_number()) return format_size(value.get<std::uint64_t>());
  if (presentation.kind == "duration" && value.is_number()) {
    return format_duration(std::chrono::milliseconds(value.get<std::int64_t>()));
  }
  return show_value(value);
}

const Merge::Entry* Merge::find(const Path& path) const {
  const auto at = entries_.find(path);
  return at == entries_.end() ? nullptr : &at->second;
}

Result<void> Merge::add(const Layer& layer) {
  for (const auto& [path, leaf] : layer.leaves) {
    const SchemaTree::Node node = tree_.find(path);
    const auto at = entries_.find(path);
    if (layer.scope == Scope::project) {
      const json current = at == entries_.end() ? json() : at->second.value;
      if (const auto rule = project_refusal(project_rule(tree_, path), node, current, leaf.value)) {
        return tl::unexpected(broken_setting(leaf.source, dotted(path),
                                             shown_setting(leaf.value, presentation_of(node)), *rule,
                                             "set it in your own settings, or on the command line"));
      }
    }
    if (of_the_moment(layer.scope)) {
      // What decides whether a person is asked is not loosened by whoever asks for the command.
      const std::string allowed = request_rule(tree_, path);
      const json current = at == entries_.end() ? json() : at->second.value;
      const auto rule =
          allowed.empty() ? std::nullopt : project_refusal(allowed, node, current, leaf.value, "a request");
      if (rule) {
        return tl::unexpected(
            broken_setting(leaf.source, dotted(path), shown_setting(leaf.value, presentation_of(node)), *rule,
                           "set it in your own settings file, $XDG_CONFIG_HOME/exechost/settings.json"));
      }
    }
    const bool unites = node.word("x-merge") == "unite";
    if (at == entries_.end()) {
      entries_[path] = {leaf.value, {layer.scope, leaf.source}};
      continue;
    }
    Entry& entry = at->second;
    if (!unites) {
      mention(path, entry, leaf, layer.scope);
      entry = {leaf.value, {layer.scope, leaf.source}};
      continue;
    }
    entry.value = united(entry.value, leaf.value);
    const bool first = entry.origin.scope == Scope::built_in;
    entry.origin = {layer.scope, first ? leaf.source : entry.origin.source + " + " + leaf.source};
  }
  return {};
}

void Merge::mention(const Path& path, const Entry& before, const Leaf& now, Scope scope) {
  if (before.value == now.value) return;
  const Presentation presentation = presentation_of(tree_.find(path));
  const std::string old_value = shown_setting(before.value, presentation);
  const std::string new_value = shown_setting(now.value, presentation);
  if (scope == Scope::environment && of_a_file(before.origin.scope)) {
    warn(fmt::format("{}: {} from {} overrides {} from {}", dotted(path), new_value, now.source, old_value,
                     before.origin.source));
  }
  if (scope == Scope::managed && of_the_moment(before.origin.scope)) {
    warn(fmt::format("{}: {} is fixed by {}; {} from {} is not used", dotted(path), new_value, now.source, old_value,
                     before.origin.source));
  }
}

}  // namespace exechost::settings

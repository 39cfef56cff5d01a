#include "core/settings/schema_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/settings/text.hpp"
#include "embedded/settings_schema.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> kBuiltInBackends{"bwrap", "docker",  "ssh",  "singularity",
                                                           "modal", "daytona", "local"};
constexpr std::array kAliases{
    std::pair<std::string_view, std::string_view>{"bubblewrap", "bwrap"},
    std::pair<std::string_view, std::string_view>{"apptainer", "singularity"},
    std::pair<std::string_view, std::string_view>{"podman", "docker"},
};

const json& backends_node() {
  static const json& node = core_schema().document().at("properties").at("backends");
  return node;
}

bool names_type(const json& type, std::string_view name) {
  if (type.is_string()) return type.get<std::string>() == name;
  return std::any_of(type.begin(), type.end(), [&](const json& one) { return one.get<std::string>() == name; });
}

json defaults_of(const SchemaTree::Node& node) {
  if (!node.is_group()) {
    const json* value = node.keyword("default");
    return value == nullptr ? json() : *value;
  }
  const json* given = node.keyword("default");
  json values = given == nullptr ? json::object() : *given;
  if (const json* properties = node.keyword("properties")) {
    for (const auto& [name, schema] : properties->items()) {
      if (!name.starts_with("$")) values.emplace(name, defaults_of({node.schema, &schema}));
    }
  }
  return values;
}

void collect(const SchemaTree::Node& node, Path& path, std::vector<std::pair<Path, SchemaTree::Node>>& leaves) {
  const json* properties = node.is_group() ? node.keyword("properties") : nullptr;
  if (properties == nullptr) {
    leaves.emplace_back(path, node);
    return;
  }
  for (const auto& [name, schema] : properties->items()) {
    if (name.starts_with("$")) continue;
    path.push_back(name);
    collect({node.schema, &schema}, path, leaves);
    path.pop_back();
  }
}

}  // namespace

std::string dotted(const Path& path) { return join(path, "."); }

std::string pointer(const Path& path) {
  std::string text;
  for (const std::string& key : path) text += "/" + pointer_token(key);
  return text;
}

std::string canonical_backend(std::string_view name) {
  for (const auto& [alias, id] : kAliases) {
    if (alias == name) return std::string(id);
  }
  return std::string(name);
}

const JsonSchema& core_schema() {
  static const JsonSchema schema = [] {
    auto compiled = JsonSchema::compile(json::parse(embedded::settings_schema));
    if (!compiled) throw std::logic_error("settings.schema.json: " + describe(compiled.error()));
    return std::move(*compiled);
  }();
  return schema;
}

const json* SchemaTree::Node::keyword(std::string_view name) const {
  if (at == nullptr || !at->is_object()) return nullptr;
  if (const auto here = at->find(name); here != at->end()) return &*here;
  const json& target = schema->resolved(*at);
  if (&target == at || !target.is_object()) return nullptr;
  const auto there = target.find(name);
  return there == target.end() ? nullptr : &*there;
}

std::string SchemaTree::Node::word(std::string_view name) const {
  const json* value = keyword(name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

bool SchemaTree::Node::flag(std::string_view name) const {
  const json* value = keyword(name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

bool SchemaTree::Node::accepts(std::string_view type) const {
  const json* types = keyword("type");
  return types == nullptr || names_type(*types, type);
}

bool SchemaTree::Node::is_group() const {
  if (!accepts("object") || keyword("type") == nullptr) return false;
  const json* others = keyword("additionalProperties");
  return keyword("properties") != nullptr || (others != nullptr && others->is_object());
}

Result<SchemaTree> SchemaTree::make(const std::vector<PluginSettings>& plugins) {
  SchemaTree tree;
  std::set<std::string> known(kBuiltInBackends.begin(), kBuiltInBackends.end());
  for (const PluginSettings& plugin : plugins) {
    json document = plugin.schema;
    if (document.is_null()) document = json::object();
    if (document.is_object()) {
      // A plugin's settings are always closed: a slip of the keyboard must not go unseen.
      document.emplace("type", "object");
      document.emplace("properties", json::object());
      document.emplace("additionalProperties", false);
    }
    auto compiled = JsonSchema::compile(std::move(document));
    if (!compiled) {
      Failure failure;
      failure.kind = FailureKind::invalid_request;
      failure.message = fmt::format("the settings schema of the backend {} is not usable: {}", plugin.backend,
                                    describe(compiled.error()));
      failure.backend = plugin.backend;
      failure.step = "settings schema";
      return tl::unexpected(std::move(failure));
    }
    tree.plugins_.insert_or_assign(plugin.backend, std::move(*compiled));
    known.insert(plugin.backend);
  }
  for (const std::string_view id : kBuiltInBackends) {
    tree.known_backends_.emplace_back(id);
    known.erase(std::string(id));
  }
  tree.known_backends_.insert(tree.known_backends_.end(), known.begin(), known.end());
  return tree;
}

SchemaTree::Node SchemaTree::child(const Node& node, const std::string& key) const {
  if (node.schema == &core_schema() && node.at == &backends_node()) {
    if (const auto plugin = plugins_.find(key); plugin != plugins_.end()) {
      return {&plugin->second, &plugin->second.document()};
    }
  }
  if (const json* properties = node.keyword("properties")) {
    if (const auto at = properties->find(key); at != properties->end()) return {node.schema, &*at};
  }
  const json* others = node.keyword("additionalProperties");
  if (others != nullptr && others->is_object()) return {node.schema, others};
  return {node.schema, nullptr};
}

SchemaTree::Node SchemaTree::find(const Path& path) const {
  Node node = root();
  for (const std::string& key : path) {
    if (node.at == nullptr) break;
    node = child(node, key);
  }
  return node;
}

bool SchemaTree::knows(std::string_view dotted_name) const {
  Path path;
  std::size_t begin = 0;
  while (begin <= dotted_name.size()) {
    const std::size_t end = std::min(dotted_name.find('.', begin), dotted_name.size());
    path.emplace_back(dotted_name.substr(begin, end - begin));
    if (path.back().empty() || path.size() > 16) return false;
    begin = end + 1;
  }
  return find(path).at != nullptr;
}

bool SchemaTree::is_plugin_root(const Node& node) const {
  return node.schema != &core_schema() && node.at == &node.schema->document();
}

json SchemaTree::defaults() const {
  json values = defaults_of(root());
  for (const auto& [id, schema] : plugins_) {
    values["backends"].emplace(id, defaults_of({&schema, &schema.document()}));
  }
  return values;
}

std::vector<std::pair<Path, SchemaTree::Node>> SchemaTree::leaves() const {
  std::vector<std::pair<Path, Node>> found;
  Path path;
  collect(root(), path, found);
  for (const auto& [id, schema] : plugins_) {
    path = {"backends", id};
    collect({&schema, &schema.document()}, path, found);
  }
  return found;
}

}  // namespace exechost::settings

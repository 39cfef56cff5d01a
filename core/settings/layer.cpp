#include "core/settings/layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/settings/text.hpp"
#include "core/settings/units.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> kNotInProfiles{"profile", "profiles", "plugins",  "managed",
                                                         "strict",  "$schema",  "admission"};

// The walk that turns a valid document into leaves.
class LayerBuilder {
 public:
  LayerBuilder(const SchemaTree& tree, Scope scope, const SourceOf& source_of) : tree_(tree), source_of_(source_of) {
    layer_.scope = scope;
  }

  Result<Layer> run(const json& document) {
    if (!valid(core_schema(), document, {})) return tl::unexpected(std::move(failure_));
    Path path;
    if (!walk(document, tree_.root(), path)) return tl::unexpected(std::move(failure_));
    return std::move(layer_);
  }

 private:
  bool fail(const Path& path, const std::string& value, const std::string& rule, std::string hint = {}) {
    failure_ = broken_setting(source_of_(path), dotted(path), value, rule, std::move(hint));
    return false;
  }

  bool valid(const JsonSchema& schema, const json& value, const Path& prefix) {
    const auto issues = schema.validate(value);
    if (issues.empty()) return true;
    const SchemaIssue& issue = issues.front();
    Path path = prefix;
    // Tokens come back unescaped one by one.
    for (json::json_pointer rest(issue.pointer); !rest.empty(); rest.pop_back()) {
      path.insert(path.begin() + static_cast<std::ptrdiff_t>(prefix.size()), rest.back());
    }
    return fail(path, issue.value, issue.rule);
  }

  bool walk(const json& value, const SchemaTree::Node& node, Path& path) {
    if (tree_.is_plugin_root(node) && !valid(*node.schema, value, path)) return false;
    if (!allowed_here(node, path)) return false;
    if (!node.is_group() || !value.is_object()) return add_leaf(value, node, path);
    // An empty member of a free map still is one: "profiles": {"mine": {}}.
    if (value.empty() && path.size() == 2 && path[0] == "profiles") {
      layer_.leaves[path] = {json::object(), source_of_(path)};
    }
    for (const auto& [key, member] : value.items()) {
      if (key == "$schema" && path.empty()) continue;
      path.push_back(key);
      if (!walk(member, tree_.child(node, key), path)) return false;
      path.pop_back();
    }
    return true;
  }

  bool allowed_here(const SchemaTree::Node& node, const Path& path) {
    if (path.size() == 3 && path[0] == "profiles" &&
        std::find(kNotInProfiles.begin(), kNotInProfiles.end(), path[2]) != kNotInProfiles.end()) {
      return fail(path, "", "a profile can't set " + path[2]);
    }
    const json* scopes = node.keyword("x-scopes");
    if (scopes == nullptr) return true;
    for (const json& scope : *scopes) {
      if (scope == to_string(layer_.scope)) return true;
    }
    return fail(path, "", fmt::format("may stand only in {} settings", join(scopes->get<std::vector<std::string>>())));
  }

  bool add_leaf(const json& value, const SchemaTree::Node& node, const Path& path) {
    json ready = value;
    if (!normalise(ready, node, path, node.flag("x-secret"))) return false;
    layer_.leaves[path] = {std::move(ready), source_of_(path)};
    return true;
  }

  bool normalise(json& value, const SchemaTree::Node& node, const Path& path, bool secret) {
    if (value.is_string()) return normalise_text(value, node, path, secret);
    if (value.is_array()) {
      const json* items = node.keyword("items");
      for (json& item : value) {
        if (!normalise(item, {node.schema, items}, path, secret)) return false;
      }
      return true;
    }
    if (value.is_object()) {
      for (auto& [key, member] : value.items()) {
        if (!clean_text(key, path, true) || !normalise(member, tree_.child(node, key), path, secret)) return false;
      }
      return true;
    }
    return value.is_number() ? normalise_number(value, node, path) : true;
  }

  // JSON carries Unicode; the system's names end at a zero byte.
  bool clean_text(const std::string& text, const Path& path, bool secret) {
    if (!is_valid_utf8(text)) return fail(path, secret ? "" : show_value(std::string_view(text)), "must be UTF-8");
    if (text.find('\0') != std::string::npos) {
      return fail(path, secret ? "" : show_value(std::string_view(text)), "must not contain a zero byte");
    }
    return true;
  }

  template <class T, class Store>
  bool parsed(const Parsed<T>& result, const json& value, const Path& path, Store&& store) {
    if (!result) return fail(path, show_value(value), result.error());
    store(*result);
    return true;
  }

  bool normalise_text(json& value, const SchemaTree::Node& node, const Path& path, bool secret) {
    const auto text = value.get<std::string>();
    if (!clean_text(text, path, secret)) return false;
    const std::string kind = node.word("x-kind");
    if (kind.empty()) return true;
    const bool number = kind == "size" || kind == "duration" || kind == "cpu";
    if (number && text == "none" && node.accepts("null")) {
      value = nullptr;
      return true;
    }
    if (kind == "size") return parsed(parse_size(text), value, path, [&](std::uint64_t bytes) { value = bytes; });
    if (kind == "duration") {
      return parsed(parse_duration(text), value, path, [&](auto span) { value = span.count(); });
    }
    if (kind == "cpu") return parsed(parse_cpu(text), value, path, [&](double cores) { value = cores; });
    if (kind == "path") return check_path(text, path);
    if (kind == "absolute_path") {
      return text.empty() || text[0] == '/' || fail(path, show_value(value), "must be an absolute path");
    }
    if (kind == "backend") return check_backend(value, text, path);
    if (kind == "setting_name") {
      return text == "*" || tree_.knows(text) ||
             fail(path, show_value(value), "must name a setting, or be *" + near(text));
    }
    return true;
  }

  // A plain number is spelled as it would be in text: MiB, seconds, cores.
  bool normalise_number(json& value, const SchemaTree::Node& node, const Path& path) {
    const std::string kind = node.word("x-kind");
    if (kind != "size" && kind != "duration" && kind != "cpu") return true;
    std::string text = value.dump();
    if (value.is_number_float()) {
      const double number = value.get<double>();
      text = number < 1e15 ? fmt::format("{}", number) : text;
      if (text.ends_with(".0")) text.resize(text.size() - 2);
    }
    if (kind == "size") return parsed(parse_size(text), value, path, [&](std::uint64_t bytes) { value = bytes; });
    if (kind == "cpu") return parsed(parse_cpu(text), value, path, [&](double cores) { value = cores; });
    return parsed(parse_duration(text), value, path, [&](auto span) { value = span.count(); });
  }

  bool check_path(const std::string& text, const Path& path) {
    const std::string shown = show_value(std::string_view(text));
    if (text.find_first_of("*?[") != std::string::npos) {
      return fail(path, shown, "patterns (*, ?, [) are not understood in paths yet", "name the folder itself");
    }
    if (text[0] == '~' && text != "~" && !text.starts_with("~/")) {
      return fail(path, shown, "only the own home can be named with ~, as ~/...");
    }
    return true;
  }

  bool check_backend(json& value, const std::string& text, const Path& path) {
    const std::string id = canonical_backend(text);
    const auto& known = tree_.known_backends();
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      return fail(path, show_value(value), "no such backend" + did_you_mean(text, known) + "; known are " + join(known),
                  "`exechost backends` shows which are installed, and why one that is found can't be used");
    }
    value = id;
    return true;
  }

  std::string near(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [path, node] : tree_.leaves()) names.push_back(dotted(path));
    return did_you_mean(name, names);
  }

  const SchemaTree& tree_;
  const SourceOf& source_of_;
  Layer layer_;
  Failure failure_;
};

}  // namespace

const Leaf* Layer::find(const Path& path) const {
  const auto at = leaves.find(path);
  return at == leaves.end() ? nullptr : &at->second;
}

Failure broken_setting(const std::string& source, const std::string& name, const std::string& value,
                       const std::string& rule, std::string hint) {
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.message = escape_for_terminal(source);
  if (!name.empty()) failure.message += ": " + escape_for_terminal(name);
  if (!value.empty()) failure.message += ": " + value;
  failure.message += ": " + rule;
  failure.hint = std::move(hint);
  failure.step = "settings";
  return failure;
}

Result<Layer> make_layer(const SchemaTree& tree, Scope scope, const json& document, const SourceOf& source_of) {
  return LayerBuilder(tree, scope, source_of).run(document);
}

Result<void> imply_tier(Layer& layer) {
  const auto backend = layer.leaves.find(Path{"backend"});
  if (backend == layer.leaves.end()) return {};
  const std::string source = backend->second.source;
  const bool local = backend->second.value == "local";
  const Leaf* tier = layer.find({"tier"});
  if (local && tier != nullptr && tier->value != "node") {
    return tl::unexpected(broken_setting(
        source, "backend", "\"local\"",
        "contradicts tier " + show_value(tier->value) + " (" + tier->source + "): local is the node tier"));
  }
  // A file may name the backend for when its tier is overruled; one request can only mean one of the two.
  if (!local && tier != nullptr && tier->value != "sandbox" && layer.scope == Scope::request) {
    return tl::unexpected(broken_setting(
        source, "backend", show_value(backend->second.value),
        "contradicts tier " + show_value(tier->value) + " (" + tier->source + "): backends are for the sandbox tier",
        "give only one of them"));
  }
  if (tier == nullptr) layer.leaves[Path{"tier"}] = {local ? "node" : "sandbox", source};
  if (local) layer.leaves.erase(Path{"backend"});
  return {};
}

}  // namespace exechost::settings

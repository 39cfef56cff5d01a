#include "core/settings/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/settings/strict_json.hpp"
#include "core/settings/text.hpp"
#include "core/settings/units.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

// Which chosen backend a name of the core's own speaks to; empty: any.
constexpr std::string_view kContainerPrefix = "TERMINAL_CONTAINER_";
constexpr std::string_view kBubblewrapPrefix = "TERMINAL_BUBBLEWRAP_";

// Names other programs read that have no counterpart here. A limit or a folder somebody asked for
// is not dropped in silence: those have a hint, shown when their backend is chosen.
struct Other {
  std::string_view name;
  std::string_view backend;
  std::string_view hint;
};
constexpr std::array kWithoutCounterpart{
    Other{"TERMINAL_MAX_FOREGROUND_TIMEOUT", "", ""},
    Other{"TERMINAL_DISK_WARNING_GB", "", ""},
    Other{"TERMINAL_SANDBOX_DIR", "", ""},
    Other{"TERMINAL_SCRATCH_DIR", "", ""},
    Other{"TERMINAL_HOME_MODE", "", ""},
    Other{"TERMINAL_PERSISTENT_SHELL", "", ""},
    Other{"TERMINAL_LOCAL_PERSISTENT", "local", ""},
    Other{"TERMINAL_LOCAL_MEMORY_MAX_MB", "local", "a plain process has no memory limit"},
    Other{"TERMINAL_VERCEL_RUNTIME", "", ""},
    Other{"TERMINAL_BUBBLEWRAP_CPU_SECONDS", "bwrap",
          "there is no limit of processor time; TERMINAL_TIMEOUT limits time"},
    Other{"TERMINAL_BUBBLEWRAP_BINDS", "bwrap",
          "folders are shown by the settings filesystem.allow_read and filesystem.allow_write"},
};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

// As a part of a variable's name, in which there can be no "-".
std::string variable_part(std::string_view id) {
  std::string result = upper(id);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

std::string trimmed_lower(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  std::string result(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// One variable and the setting it sets.
struct Binding {
  std::string variable;
  Path path;
  SchemaTree::Node node;
};

std::vector<std::string> variables_of(const SchemaTree::Node& node) {
  const json* names = node.keyword("x-env");
  if (names == nullptr) return {};
  if (names->is_string()) return {names->get<std::string>()};
  return names->get<std::vector<std::string>>();
}

bool speaks_to(std::string_view variable, std::string_view backend) {
  if (variable.starts_with(kContainerPrefix)) return backend != "ssh" && backend != "local" && !backend.empty();
  if (variable.starts_with(kBubblewrapPrefix)) return backend == "bwrap";
  return true;
}

bool belongs_to_a_backend(std::string_view variable) {
  return variable.starts_with(kContainerPrefix) || variable.starts_with(kBubblewrapPrefix);
}

std::vector<Binding> core_bindings(const SchemaTree& tree) {
  std::vector<Binding> bindings;
  for (const auto& [path, node] : tree.leaves()) {
    if (path[0] == "backends") continue;
    for (const std::string& variable : variables_of(node)) {
      if (variable.find('<') == std::string::npos) bindings.push_back({variable, path, node});
    }
  }
  return bindings;
}

// Every property of a plugin has the variable TERMINAL_<ID>_<NAME>, and those its schema names.
std::vector<Binding> plugin_bindings(const SchemaTree& tree, const std::string& backend) {
  std::vector<Binding> bindings;
  for (const auto& [path, node] : tree.leaves()) {
    if (path.size() < 3 || path[0] != "backends" || path[1] != backend) continue;
    std::string own = "TERMINAL";
    for (std::size_t i = 1; i < path.size(); ++i) own += "_" + variable_part(path[i]);
    bindings.push_back({own, path, node});
    for (const std::string& variable : variables_of(node)) {
      if (variable != own) bindings.push_back({variable, path, node});
    }
  }
  return bindings;
}

// A variable's text as the JSON that the setting's schema then checks.
class VariableReader {
 public:
  VariableReader(const SchemaTree& tree, VariableLayer& result) : tree_(tree), result_(result) {
    result_.layer.scope = Scope::environment;
  }

  Result<void> read(const Binding& binding, const std::string& text) {
    auto value = translate(binding, text);
    if (!value) return tl::unexpected(value.error());
    json document = std::move(*value);
    for (auto key = binding.path.rbegin(); key != binding.path.rend(); ++key)
      document = json{{*key, std::move(document)}};
    auto layer = make_layer(tree_, Scope::environment, document, [&](const Path&) { return binding.variable; });
    if (!layer) return tl::unexpected(layer.error());
    for (auto& [path, leaf] : layer->leaves) take(path, std::move(leaf));
    return {};
  }

 private:
  // Two variables may name one setting: the later, more specific one decides and the other is
  // mentioned.
  void take(const Path& path, Leaf leaf) {
    const auto [at, fresh] = result_.layer.leaves.try_emplace(path, leaf);
    if (fresh) return;
    if (at->second.value != leaf.value) {
      result_.warnings.push_back(fmt::format("{} and {} both set {} and differ; {} decides", at->second.source,
                                             leaf.source, dotted(path), leaf.source));
    }
    at->second = std::move(leaf);
  }

  Failure broken(const Binding& binding, std::string_view text, const std::string& rule) {
    const bool secret = binding.node.flag("x-secret");
    return broken_setting(binding.variable, dotted(binding.path), secret ? "(secret)" : show_value(text), rule);
  }

  Result<json> translate(const Binding& binding, const std::string& text) {
    if (!is_valid_utf8(text)) return tl::unexpected(broken(binding, text, "must be UTF-8"));
    if (text.empty()) {
      return tl::unexpected(broken(binding, text, "must not be empty; unset the variable to get the default"));
    }
    if (binding.variable == "TERMINAL_ENV") return json(trimmed_lower(text));
    if (binding.variable == "TERMINAL_DEGRADED_MODE") {
      return word(binding, text, {{"fail", "closed"}, {"warn", "ask"}});
    }
    if (binding.variable == "TERMINAL_BUBBLEWRAP_PROFILE") {
      if (binding.path[0] == "network") {
        return word(binding, text, {{"restricted", "none"}, {"workspace", "none"}, {"network", "full"}});
      }
      return word(binding, text, {{"restricted", "ro"}, {"workspace", "rw"}, {"network", "rw"}});
    }
    return by_type(binding, text);
  }

  Result<json> word(const Binding& binding, const std::string& text,
                    const std::map<std::string, std::string>& meanings) {
    const auto at = meanings.find(trimmed_lower(text));
    if (at != meanings.end()) return json(at->second);
    std::vector<std::string> words;
    for (const auto& [name, meaning] : meanings) words.push_back(name);
    return tl::unexpected(broken(binding, text, "must be one of " + join(words) + did_you_mean(text, words)));
  }

  template <class T>
  Result<json> number(const Binding& binding, const std::string& text, const Parsed<T>& parsed) {
    if (!parsed) return tl::unexpected(broken(binding, text, parsed.error()));
    return json(*parsed);
  }

  Result<json> by_type(const Binding& binding, const std::string& text) {
    const SchemaTree::Node& node = binding.node;
    if (node.accepts("string") || node.keyword("type") == nullptr) return json(text);
    if (node.accepts("boolean")) return number(binding, text, parse_boolean(text));
    if (node.accepts("integer") && !node.accepts("number")) {
      const json* least = node.keyword("minimum");
      if (least != nullptr && *least == 1) return number(binding, text, parse_count(text));
      return number(binding, text, parse_integer(text));
    }
    if (node.accepts("number")) return number(binding, text, parse_number(text));
    auto parsed = parse_json_strict(text, "as JSON");
    if (!parsed) return tl::unexpected(broken(binding, text, parsed.error().message));
    const bool fits = parsed->is_array() ? node.accepts("array") : parsed->is_object() && node.accepts("object");
    if (fits) return parsed;
    return tl::unexpected(
        broken(binding, text, node.accepts("array") ? "must be a JSON list" : "must be a JSON object"));
  }

  const SchemaTree& tree_;
  VariableLayer& result_;
};

Result<void> read_all(VariableReader& reader, const std::vector<Binding>& bindings, const Environment& environment) {
  for (const Binding& binding : bindings) {
    const auto at = environment.find(binding.variable);
    if (at == environment.end()) continue;
    if (auto done = reader.read(binding, at->second); !done) return done;
  }
  return {};
}

// TERMINAL_<ID>_IMAGE is the core's `image` unless the plugin has one of its own.
std::optional<Binding> image_binding(const SchemaTree& tree, const std::string& backend) {
  if (tree.find({"backends", backend, "image"}).at != nullptr && tree.plugins().contains(backend)) return std::nullopt;
  return Binding{"TERMINAL_" + variable_part(backend) + "_IMAGE", {"image"}, tree.find({"image"})};
}

}  // namespace

Result<VariableLayer> general_variables(const SchemaTree& tree, const Environment& environment) {
  VariableLayer result;
  VariableReader reader(tree, result);
  auto bindings = core_bindings(tree);
  std::erase_if(bindings, [](const Binding& binding) { return belongs_to_a_backend(binding.variable); });
  if (auto done = read_all(reader, bindings, environment); !done) return tl::unexpected(done.error());
  return result;
}

Result<VariableLayer> backend_variables(const SchemaTree& tree, const Environment& environment,
                                        const std::string& backend) {
  VariableLayer result;
  VariableReader reader(tree, result);
  auto bindings = core_bindings(tree);
  std::erase_if(bindings, [&](const Binding& binding) {
    return !belongs_to_a_backend(binding.variable) || !speaks_to(binding.variable, backend);
  });
  for (Binding& binding : plugin_bindings(tree, backend)) bindings.push_back(std::move(binding));
  if (backend != "local") {
    if (auto image = image_binding(tree, backend)) bindings.push_back(std::move(*image));
  }
  if (auto done = read_all(reader, bindings, environment); !done) return tl::unexpected(done.error());
  for (const Other& other : kWithoutCounterpart) {
    if (other.hint.empty() || other.backend != backend || !environment.contains(std::string(other.name))) continue;
    result.warnings.push_back(fmt::format("{} has no effect: {}", other.name, other.hint));
  }
  return result;
}

std::vector<std::string> near_misses(const SchemaTree& tree, const Environment& environment) {
  std::set<std::string> known;
  for (const Binding& binding : core_bindings(tree)) known.insert(binding.variable);
  for (const std::string& name : names_without_counterpart()) known.insert(name);
  for (const std::string& id : tree.known_backends()) {
    known.insert("TERMINAL_" + variable_part(id) + "_IMAGE");
    for (const Binding& binding : plugin_bindings(tree, id)) known.insert(binding.variable);
  }
  const std::vector<std::string> names(known.begin(), known.end());
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment) {
    if (name.size() < 10 || known.contains(name)) continue;
    const auto nearest = nearest_name(upper(name), names);
    if (nearest) {
      warnings.push_back(
          fmt::format("{} is not a variable that is read; did you mean {}?", escape_for_terminal(name), *nearest));
    }
  }
  return warnings;
}

std::vector<std::string> names_without_counterpart() {
  std::vector<std::string> names;
  for (const Other& other : kWithoutCounterpart) names.emplace_back(other.name);
  return names;
}

}  // namespace exechost::settings

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "core/settings/layer.hpp"
#include "core/settings/merge.hpp"
#include "core/settings/schema_tree.hpp"
#include "core/settings/settings.hpp"
#include "core/settings/text.hpp"
#include "core/settings/variables.hpp"

namespace exechost::settings {

using nlohmann::json;

namespace {

// One request's settings being worked out. The stages run in the order they stand here.
class Resolution {
 public:
  Resolution(const SchemaTree& tree, const Sources& sources) : tree_(tree), sources_(sources), merge_(tree) {}

  Result<Settings> run() {
    Result<void> done = read_layers();
    if (done) done = choose_profile();
    if (done) done = read_backend_variables();
    if (done) done = merge_layers();
    if (done) done = settle_unavailable();
    if (!done) return tl::unexpected(done.error());
    return finish();
  }

 private:
  static constexpr std::size_t kScopes = 8;
  static std::size_t index(Scope scope) { return static_cast<std::size_t>(scope); }

  Result<void> read_layers() {
    auto built_in = make_layer(tree_, Scope::built_in, defaults_without_none(), [](const Path&) { return "built-in"; });
    if (!built_in) return tl::unexpected(built_in.error());
    layers_[index(Scope::built_in)].push_back(std::move(*built_in));
    for (const Document& document : sources_.files) {
      auto layer = make_layer(tree_, document.scope, document.values, [&](const Path&) { return document.source; });
      if (!layer) return tl::unexpected(layer.error());
      if (auto done = keep(std::move(*layer)); !done) return done;
    }
    auto request =
        make_layer(tree_, Scope::request, sources_.request, [&](const Path& path) { return option_for(path); });
    if (!request) return tl::unexpected(request.error());
    if (auto done = keep(std::move(*request)); !done) return done;
    auto variables = general_variables(tree_, sources_.environment);
    if (!variables) return tl::unexpected(variables.error());
    for (std::string& warning : variables->warnings) merge_.warn(std::move(warning));
    for (std::string& warning : near_misses(tree_, sources_.environment)) merge_.warn(std::move(warning));
    return keep(std::move(variables->layer));
  }

  Result<void> keep(Layer layer) {
    // A project may set neither; what it said is what the refusal has to name.
    if (layer.scope != Scope::project) {
      if (auto done = imply_tier(layer); !done) return done;
    }
    layers_[index(layer.scope)].push_back(std::move(layer));
    return {};
  }

  json defaults_without_none() const {
    json values = tree_.defaults();
    for (const auto& [path, node] : tree_.leaves()) {
      const json::json_pointer place(pointer(path));
      if (values.at(place).is_null())
        values.at(json::json_pointer(pointer({path.begin(), path.end() - 1}))).erase(path.back());
    }
    // Said once, as built-in; every document below may then say it for its own scope only.
    values.erase("managed");
    return values;
  }

  // "--memory" for an override that the command line made, from the nearest name above it.
  std::string option_for(const Path& path) const {
    for (Path at = path;; at.pop_back()) {
      const auto found = sources_.request_sources.find(pointer(at));
      if (found != sources_.request_sources.end()) return found->second;
      if (at.empty()) return "request";
    }
  }

  // The strongest layer that says something about `path`.
  const Leaf* strongest(const Path& path) const {
    for (auto scope = layers_.rbegin(); scope != layers_.rend(); ++scope) {
      for (auto layer = scope->rbegin(); layer != scope->rend(); ++layer) {
        if (const Leaf* leaf = layer->find(path)) return leaf;
      }
    }
    return nullptr;
  }

  // A profile's definition is put together from all scopes before it can be laid over the files.
  Result<void> choose_profile() {
    const Leaf& chosen = *strongest({"profile"});
    const auto name = chosen.value.get<std::string>();
    Merge definitions(tree_);
    std::set<std::string> names;
    for (const auto& scope : layers_) {
      for (const Layer& layer : scope) {
        Layer profiles;
        profiles.scope = layer.scope;
        for (const auto& [path, leaf] : layer.leaves) {
          if (path[0] != "profiles" || path.size() < 2) continue;
          names.insert(path[1]);
          if (path[1] == name && path.size() > 2) profiles.leaves[path] = leaf;
        }
        // What a project may define is checked where all of it is merged.
        if (profiles.scope == Scope::project) continue;
        if (auto done = definitions.add(profiles); !done) return done;
      }
    }
    if (!names.contains(name)) {
      const std::vector<std::string> known(names.begin(), names.end());
      return tl::unexpected(
          broken_setting(chosen.source, "profile", show_value(chosen.value),
                         "no such profile" + did_you_mean(name, known) + "; known are " + join(known)));
    }
    if (auto done = check_allowed(name, chosen.source); !done) return done;
    Layer layer;
    layer.scope = Scope::profile;
    for (const auto& [path, entry] : definitions.entries()) {
      const std::string from = entry.origin.scope == Scope::built_in ? "" : " (" + entry.origin.source + ")";
      layer.leaves[Path(path.begin() + 2, path.end())] = {entry.value, "profile " + name + from};
    }
    return keep(std::move(layer));
  }

  Result<void> check_allowed(const std::string& profile, const std::string& source) const {
    for (const Layer& layer : layers_[index(Scope::managed)]) {
      const Leaf* forbidden = layer.find({"managed", "forbidden_profiles"});
      if (forbidden == nullptr) continue;
      if (std::find(forbidden->value.begin(), forbidden->value.end(), profile) == forbidden->value.end()) continue;
      return tl::unexpected(broken_setting(source, "profile", show_value(std::string_view(profile)),
                                           "this profile is forbidden by " + forbidden->source,
                                           "choose another profile, or ask whoever manages this machine"));
    }
    return {};
  }

  Result<void> read_backend_variables() {
    const auto tier = strongest({"tier"})->value.get<std::string>();
    if (tier == "gateway") return {};
    const std::string backend = tier == "node" ? "local" : strongest({"backend"})->value.get<std::string>();
    auto variables = backend_variables(tree_, sources_.environment, backend);
    if (!variables) return tl::unexpected(variables.error());
    for (std::string& warning : variables->warnings) merge_.warn(std::move(warning));
    return keep(std::move(variables->layer));
  }

  Result<void> merge_layers() {
    for (const auto& scope : layers_) {
      for (const Layer& layer : scope) {
        if (auto done = merge_.add(layer); !done) return done;
      }
    }
    return {};
  }

  // Two spellings of one decision must not contradict each other; the administrator's wins.
  Result<void> settle_unavailable() {
    const Merge::Entry* fail = merge_.find({"fail_if_unavailable"});
    if (fail == nullptr) return {};
    const Merge::Entry said = *merge_.find({"on_unavailable"});
    const json meant = fail->value == true ? "closed" : "open";
    if (said.origin.scope == Scope::built_in) {
      merge_.set({"on_unavailable"}, {meant, fail->origin});
      return {};
    }
    if (said.value == meant) return {};
    const std::string text =
        fmt::format("fail_if_unavailable: {} from {} contradicts on_unavailable: {} from {}", fail->value.dump(),
                    fail->origin.source, said.value.dump(), said.origin.source);
    const bool managed_fail = fail->origin.scope == Scope::managed;
    const bool managed_said = said.origin.scope == Scope::managed;
    if (managed_fail == managed_said) {
      return tl::unexpected(
          broken_setting("settings", "", "", text, "true means closed, false means open; set one of them"));
    }
    merge_.warn(text + "; the managed one decides");
    if (managed_fail) {
      merge_.set({"on_unavailable"}, {meant, fail->origin});
    } else {
      merge_.set({"fail_if_unavailable"}, {said.value == "closed", said.origin});
    }
    return {};
  }

  Result<Settings> finish() {
    json values = tree_.defaults();
    std::map<std::string, Origin> origins;
    std::map<std::string, Presentation> presentations;
    for (const auto& [path, entry] : merge_.entries()) {
      json* at = &values;
      for (const std::string& key : path) at = &(*at)[key];
      if (entry.value.is_object() && at->is_object() && !at->empty()) continue;
      *at = entry.value;
      const std::string name = dotted(path);
      if (entry.origin.scope != Scope::built_in) origins[name] = entry.origin;
      const Presentation presentation = presentation_of(tree_.find(path));
      if (presentation.secret || !presentation.kind.empty()) presentations[name] = presentation;
    }
    std::vector<std::string> warnings = merge_.take_warnings();
    if (!warnings.empty() && values.at("strict") == true) {
      return tl::unexpected(broken_setting("settings", "", "", join(warnings, "; "), "`strict` makes warnings errors"));
    }
    return Settings(std::move(values), std::move(origins), std::move(warnings), std::move(presentations));
  }

  const SchemaTree& tree_;
  const Sources& sources_;
  Merge merge_;
  std::array<std::vector<Layer>, kScopes> layers_;  // by scope, weakest first
};

}  // namespace

Result<Settings> resolve(const Sources& sources) {
  auto tree = SchemaTree::make(sources.plugins);
  if (!tree) return tl::unexpected(tree.error());
  return Resolution(*tree, sources).run();
}

}  // namespace exechost::settings

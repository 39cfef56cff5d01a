// Settings as they are in force for one request: a JSON tree in the shape of the
// settings schema (settings.schema.json), every leaf with the place it came from.
//
// resolve() is pure: what it reads from disk and environment is handed in by
// read_sources(). Both are safe to call from any thread.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::settings {

// Weakest first; a later scope wins. Deny lists unite over all scopes.
enum class Scope { built_in, system, user, project, profile, environment, request, managed };
std::string_view to_string(Scope scope);

struct Origin {
  Scope scope = Scope::built_in;
  std::string source;  // "built-in", a file's path, "TERMINAL_ENV", "--backend", "profile install"
};

// One settings document before it is merged.
struct Document {
  Scope scope = Scope::built_in;
  std::string source;     // path of the file, or a word for it
  nlohmann::json values;  // an object
};

// A plugin's own settings, from its manifest.
struct PluginSettings {
  std::string backend;    // id
  nlohmann::json schema;  // JSON Schema (our subset); properties may carry "x-env"
};

// Everything resolve() looks at.
struct Sources {
  std::vector<Document> files;                         // system, user, project, managed: those that exist
  std::map<std::string, std::string> environment;      // the whole environment; TERMINAL_* is read
  nlohmann::json request = nlohmann::json::object();   // overrides of this request
  std::map<std::string, std::string> request_sources;  // JSON pointer of an override -> "--backend"; else "request"
  std::vector<PluginSettings> plugins;
};

class Settings {
 public:
  Settings() = default;
  Settings(nlohmann::json values, std::map<std::string, Origin> origins, std::vector<std::string> warnings)
      : values_(std::move(values)), origins_(std::move(origins)), warnings_(std::move(warnings)) {}

  // The whole tree, defaults filled in.
  const nlohmann::json& values() const { return values_; }
  // Value at a dotted name ("resources.memory"); null when it has none.
  const nlohmann::json& at(std::string_view dotted) const;
  // Where it came from; built_in when nobody set it.
  Origin origin(std::string_view dotted) const;
  // True when a source other than built-in set it: then it is a requirement.
  bool requested(std::string_view dotted) const { return origin(dotted).scope != Scope::built_in; }
  // Every leaf that has an origin, by dotted name.
  const std::map<std::string, Origin>& origins() const { return origins_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  nlohmann::json values_ = nlohmann::json::object();
  std::map<std::string, Origin> origins_;
  std::vector<std::string> warnings_;
};

// Where settings files are looked for.
struct Locations {
  std::string system_dir = "/etc/exechost";  // settings.json, managed.json
  std::string user_dir;                      // settings.json
  std::string project_dir;                   // .exechost.json; the workspace
};

// Reads the files that exist. A file that is not root's or the user's, or is writable by
// others, or is not valid JSON, is invalid_request naming it and the rule.
Result<std::vector<Document>> read_files(const Locations& locations);

// Merges, checks against the schema and the per-scope rules, applies the profile and the
// managed settings. invalid_request names the setting (or variable), its value, the rule
// and where it came from.
Result<Settings> resolve(const Sources& sources);

// The settings schema, parsed once (docs and `exechost schema settings` come from it).
const nlohmann::json& schema();

}  // namespace exechost::settings

// Settings as they are in force for one request: a JSON tree in the shape of the
// settings schema (settings.schema.json), every leaf with the place it came from.
//
// resolve() is pure: what it reads from disk and environment is handed in by
// read_files() and the caller. Both are safe to call from any thread. Value types.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// How a leaf is shown to a person.
struct Presentation {
  std::string kind;  // "size" (the value is bytes), "duration" (milliseconds), else ""
  bool secret = false;
};

class Settings {
 public:
  Settings() = default;
  Settings(nlohmann::json values, std::map<std::string, Origin> origins, std::vector<std::string> warnings,
           std::map<std::string, Presentation> presentations = {})
      : values_(std::move(values)),
        origins_(std::move(origins)),
        warnings_(std::move(warnings)),
        presentations_(std::move(presentations)) {}

  // The whole tree, defaults filled in: sizes are integers of bytes, durations integers of
  // milliseconds, cpu a number of cores, null where there is no limit. `on_unavailable` is
  // final (`fail_if_unavailable` is worked in); `backend` is never "local": that is tier "node".
  const nlohmann::json& values() const { return values_; }
  // Value at a dotted name ("resources.memory"); null when it has none.
  const nlohmann::json& at(std::string_view dotted) const;
  // A backend's own settings as its plugin's schema knows them: what nobody set is left out.
  nlohmann::json backend_settings(std::string_view backend) const;
  // Where it came from; built_in when nobody set it. Of a group ("network"): the strongest of
  // its members.
  Origin origin(std::string_view dotted) const;
  // True when a source other than built-in set it: then it is a requirement.
  bool requested(std::string_view dotted) const { return origin(dotted).scope != Scope::built_in; }
  // Every leaf that a source other than built-in set, by dotted name.
  const std::map<std::string, Origin>& origins() const { return origins_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Leaves that are shown other than as plain JSON, by dotted name.
  const std::map<std::string, Presentation>& presentations() const { return presentations_; }

 private:
  nlohmann::json values_ = nlohmann::json::object();
  std::map<std::string, Origin> origins_;
  std::vector<std::string> warnings_;
  std::map<std::string, Presentation> presentations_;
};

// Where settings files are looked for.
struct Locations {
  std::string system_dir = "/etc/exechost";  // settings.json, managed.json
  std::string user_dir;                      // settings.json
  std::string project_dir;                   // .exechost.json; the workspace
};

// Reads the files that exist, weakest scope first. A file that is not a regular file of root's or
// the effective user's, is a symlink, is writable by group or others, is larger than 1 MiB, can't
// be read, or is not a JSON object is invalid_request naming it and the rule. An empty folder name
// in `locations` is skipped.
Result<std::vector<Document>> read_files(const Locations& locations);

// Merges, checks against the schema and the per-scope rules, applies the profile and the
// managed settings. invalid_request names the setting (or variable), its value, the rule
// and where it came from; a value that is secret is never shown. With `strict`, warnings are
// failures too. Plugins' variables are read only for the chosen backend.
Result<Settings> resolve(const Sources& sources);

// The settings schema, parsed once (docs and `exechost schema settings` come from it).
const nlohmann::json& schema();

// One line per leaf, aligned: name, value (sizes and durations with units, secrets hidden), origin.
// Safe for a terminal.
std::string show_origin(const Settings& settings);
// The same as data: [{"name", "value", "scope", "source"}]; secret values are null with
// "secret": true.
nlohmann::json origins_json(const Settings& settings);

// docs/settings.md, rendered from the schema.
std::string schema_markdown();

}  // namespace exechost::settings

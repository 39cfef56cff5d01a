// The settings schema with each installed plugin's own schema in its place below `backends`,
// seen as a tree of named settings. Immutable; safe from any thread.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings/json_schema.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"

namespace exechost::settings {

using Path = std::vector<std::string>;  // {"resources", "memory"}
std::string dotted(const Path& path);
std::string pointer(const Path& path);  // RFC 6901

// ExecHost's own schema, compiled once.
const JsonSchema& core_schema();

class SchemaTree {
 public:
  // A place in the schema; `$ref` is followed where a keyword is looked up.
  struct Node {
    const JsonSchema* schema = nullptr;
    const nlohmann::json* at = nullptr;  // an object, or true where anything goes

    // A keyword here, else where $ref leads; nullptr when it is at neither.
    const nlohmann::json* keyword(std::string_view name) const;
    std::string word(std::string_view name) const;  // a keyword that is a string; "" when absent
    bool flag(std::string_view name) const;         // a keyword that is a switch; false when absent
    bool accepts(std::string_view type) const;      // `type` is absent or names it
    // Its members are settings of their own; anything else is one value.
    bool is_group() const;
  };

  // invalid_request naming the plugin when its schema is not one.
  static Result<SchemaTree> make(const std::vector<PluginSettings>& plugins);

  Node root() const { return {&core_schema(), &core_schema().document()}; }
  // The member `key`; `at` is nullptr when the schema knows none of that name.
  Node child(const Node& node, const std::string& key) const;
  Node find(const Path& path) const;
  bool knows(std::string_view dotted_name) const;
  bool is_plugin_root(const Node& node) const;

  // Every named setting with its default; null where there is none.
  nlohmann::json defaults() const;
  // Every leaf that the schema names itself (no members of free maps), in order.
  std::vector<std::pair<Path, Node>> leaves() const;

  // Ids that may be named: the built-in ones, then the plugins' (sorted, each once).
  const std::vector<std::string>& known_backends() const { return known_backends_; }
  const std::map<std::string, JsonSchema>& plugins() const { return plugins_; }

 private:
  std::map<std::string, JsonSchema> plugins_;
  std::vector<std::string> known_backends_;
};

// The canonical id of a backend's other name ("podman" -> "docker"), else the name itself.
std::string canonical_backend(std::string_view name);

}  // namespace exechost::settings

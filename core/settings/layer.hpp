// One settings document, checked, its values in the form that consumers read, taken apart into
// leaves. Stages of resolve(); internal to this module.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/settings/schema_tree.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"

namespace exechost::settings {

struct Leaf {
  nlohmann::json value;
  std::string source;  // file, variable, option
};

struct Layer {
  Scope scope = Scope::built_in;
  std::map<Path, Leaf> leaves;  // parents before their members

  const Leaf* find(const Path& path) const;
};

// Where in a document a value stands -> what to call its source in messages.
using SourceOf = std::function<std::string(const Path&)>;

// Checks `document` against the schema and takes it apart. Sizes become bytes, durations
// milliseconds, cpu a number, "none" null, backends their canonical id.
Result<Layer> make_layer(const SchemaTree& tree, Scope scope, const nlohmann::json& document,
                         const SourceOf& source_of);

// "SOURCE: NAME: VALUE: RULE" as invalid_request.
Failure broken_setting(const std::string& source, const std::string& name, const std::string& value,
                       const std::string& rule, std::string hint = {});

// A backend named in a layer decides the tier too, unless the layer says it: `local` is the node
// tier, any other the sandbox tier. Fails when they contradict each other.
Result<void> imply_tier(Layer& layer);

}  // namespace exechost::settings

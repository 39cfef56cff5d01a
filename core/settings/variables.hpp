// TERMINAL_* variables: which name sets what, and how its text is read. Internal to this module.
//
// A name that belongs to a backend which isn't chosen is not even parsed. Unknown names are
// ignored, names one slip away from a known one are warned about.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/settings/layer.hpp"
#include "core/settings/schema_tree.hpp"

namespace exechost::settings {

using Environment = std::map<std::string, std::string>;

struct VariableLayer {
  Layer layer;
  std::vector<std::string> warnings;
};

// The variables that belong to no backend: TERMINAL_ENV, TERMINAL_TIMEOUT, ...
Result<VariableLayer> general_variables(const SchemaTree& tree, const Environment& environment);
// Those that only the chosen backend ("local" for the node tier) has.
Result<VariableLayer> backend_variables(const SchemaTree& tree, const Environment& environment,
                                        const std::string& backend);
// A line for each name that looks like a slip of a known one.
std::vector<std::string> near_misses(const SchemaTree& tree, const Environment& environment);

// For documentation: name -> what it sets (a dotted name), and the names known elsewhere that
// mean nothing here.
std::vector<std::string> names_without_counterpart();

}  // namespace exechost::settings

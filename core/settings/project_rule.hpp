// How a project's file may change a setting: only to something at most as permissive. Internal
// to this module.
#pragma once

#include <optional>
#include <string>

#include "core/settings/schema_tree.hpp"

namespace exechost::settings {

// The rule at `path`: of the outermost group that has one, else of the setting; "forbidden" when
// neither says anything.
std::string project_rule(const SchemaTree& tree, const Path& path);

// Why `rule` doesn't let a project change `current` to `wanted`; nothing when it does.
//   min       a smaller number (none is the largest), or an earlier word of the enum
//   max       a larger number, or a later word
//   subset    a list without anything new
//   superset  a list that keeps everything (lists that unite do by themselves)
//   off_only  false
//   forbidden nothing at all
std::optional<std::string> project_refusal(const std::string& rule, const SchemaTree::Node& node,
                                           const nlohmann::json& current, const nlohmann::json& wanted);

}  // namespace exechost::settings

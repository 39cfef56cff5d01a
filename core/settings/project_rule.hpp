// How a project's file may change a setting, and how a request may change one that decides about
// admission: only to something at most as permissive. Internal to this module.
#pragma once

#include <optional>
#include <string>

#include "core/settings/schema_tree.hpp"

namespace exechost::settings {

// The rule at `path`: of the outermost group that has one, else of the setting; "forbidden" when
// neither says anything.
std::string project_rule(const SchemaTree& tree, const Path& path);

// The rule for requests, variables and profiles at `path`, found the same way; empty: they may set anything.
std::string request_rule(const SchemaTree& tree, const Path& path);

// Why `rule` doesn't let a project change `current` to `wanted`; nothing when it does. `who` begins the
// sentence.
//   min       a smaller number (none is the largest), or an earlier word of the enum
//   max       a larger number, or a later word
//   subset    a list without anything new
//   superset  a list that keeps everything (lists that unite do by themselves)
//   off_only  false
//   forbidden nothing at all
std::optional<std::string> project_refusal(const std::string& rule, const SchemaTree::Node& node,
                                           const nlohmann::json& current, const nlohmann::json& wanted,
                                           const std::string& who = "a project's file");

}  // namespace exechost::settings

// The command's environment variables, built from the caller's by rules; nothing is passed on
// by accident.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/facts.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::plan {

struct BuiltEnvironment {
  std::map<std::string, std::string> variables;
  std::vector<std::string> withheld;  // names the caller has and the command has not; sorted
};

// The home that a command gets in an environment of its own; nothing: on the host itself, where it
// keeps the caller's.
using HomeInside = std::optional<std::string>;

// In this order: inherit (core, none, all) and include; less the patterns of secrets and exclude;
// plus set; only include_only of it; plus the request's own. With inherit core or all HOME, TMPDIR,
// PWD and PATH are made to fit the inside; on the host PWD alone. invalid_request for a name or value that can't be
// one.
Result<BuiltEnvironment> build_environment(const settings::Settings& settings, const Request& request,
                                           const Facts& facts, const HomeInside& home, const std::string& cwd);

// Shell-like, with * and ?, letters of either case alike.
bool matches_pattern(std::string_view name, std::string_view pattern);
// Whether a value may be shown to a person or written down: only what the core list names.
bool may_be_shown(std::string_view name);

}  // namespace exechost::plan

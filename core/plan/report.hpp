// What planning collects on its way: warnings, and failures in one form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"

namespace exechost::plan {

Failure plan_failure(FailureKind kind, std::string message, std::string hint = {}, std::string backend = {});

// `text` as it may be put between quotes into a message: valid UTF-8, nothing that rewrites a terminal.
std::string quote(std::string_view text);

// A requested setting that can't be enforced: refused, unless best_effort is said for it; then it is
// a warning.
Result<void> refuse_unless_best_effort(const settings::Settings& settings, std::string_view name, std::string message,
                                       std::vector<std::string>& warnings);

}  // namespace exechost::plan

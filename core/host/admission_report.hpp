// What admission decided, as `explain` shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/admission/admission.hpp"

namespace exechost::host {

// {"decision": "allowed"|"ask"|"denied", "by", "hint"}: part of the plan's schema.
nlohmann::json admission_json(const admission::Decision& decision);
// Lines in the form of plan::to_text. Safe for a terminal.
std::string admission_text(const admission::Decision& decision);

}  // namespace exechost::host

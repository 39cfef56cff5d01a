// A report of the kit as documents for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/conformance/conformance.hpp"

namespace exechost::conformance {

// {"backend","library","level","passed","failed","unchecked","claims":{NAME:GRADE},
//  "checks":[{"name","level","title","result","why","ms"}]}; level null when none is reached.
nlohmann::json to_json(const Report& report);

// One testsuite in the form that continuous integration reads; unchecked ones are skipped.
std::string to_junit(const Report& report);

}  // namespace exechost::conformance

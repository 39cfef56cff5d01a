// From settings and facts to the view.
#pragma once

#include <string>
#include <vector>

#include "core/plan/facts.hpp"
#include "core/plan/view.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"

namespace exechost::plan {

// The home that commands get: the user's where a private folder can stand in for it, else /tmp.
std::string home_inside(const Facts& facts);

// `workspace` is resolved. Warnings say which requested paths have no effect and why. Fails with
// unsupported for a protection that can't be given, with invalid_request for a path that can't be
// part of a view.
Result<View> compose_view(const settings::Settings& settings, const Facts& facts, const std::string& workspace,
                          std::vector<std::string>& warnings);

}  // namespace exechost::plan

// Typed reading of settings that were validated before: a value of another type reads as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings/settings.hpp"

namespace exechost::plan {

std::string text_setting(const settings::Settings& settings, std::string_view name, std::string_view absent = {});
bool flag_setting(const settings::Settings& settings, std::string_view name, bool absent);
std::optional<std::uint64_t> count_setting(const settings::Settings& settings, std::string_view name);
std::vector<std::string> list_setting(const settings::Settings& settings, std::string_view name);

// True when best_effort names the setting, its group, or "*".
bool is_best_effort(const settings::Settings& settings, std::string_view name);
// "the user's settings (/home/u/…)" : where a value came from, for reports.
std::string origin_text(const settings::Settings& settings, std::string_view name);

}  // namespace exechost::plan

// Words for messages: the nearest name to a mistyped one, and values as they may be shown.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exechost::settings {

// Edits (insert, remove, replace, swap neighbours) between two names; anything above `limit`
// is reported as limit + 1. Bounded by limit, not by the length of the names.
std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t limit);

// The candidate that is a typing slip away from `name`: at most 2 edits, fewer for short names.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// " (did you mean X?)" or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

// A value in a message: JSON, safe for a terminal, cut after 80 characters.
std::string show_value(const nlohmann::json& value);
std::string show_value(std::string_view text);

// The words with `separator` between them.
std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

}  // namespace exechost::settings

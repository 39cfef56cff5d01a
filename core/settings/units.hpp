// The spellings of numbers that settings accept. Strict: surrounding junk, empty text,
// 0, negative values, NaN and overflow are errors whose text states the rule.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace exechost::settings {

template <class T>
using Parsed = tl::expected<T, std::string>;  // error: the rule, in words

Parsed<bool> parse_boolean(std::string_view text);                        // 1/0/true/false/yes/no/on/off, any case
Parsed<std::uint64_t> parse_size(std::string_view text);                  // bytes; "512m", "2GiB", plain = MB
Parsed<std::chrono::milliseconds> parse_duration(std::string_view text);  // "30s", "5m", "250ms", plain = seconds
Parsed<double> parse_cpu(std::string_view text);                          // cores: "0.5", "2"
Parsed<std::uint64_t> parse_count(std::string_view text);                 // 1 and above

}  // namespace exechost::settings

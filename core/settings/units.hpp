// The spellings of numbers that settings accept. Strict: surrounding junk, empty text,
// 0, negative values, NaN and overflow are errors whose text states the rule. Pure functions,
// safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace exechost::settings {

template <class T>
using Parsed = tl::expected<T, std::string>;  // error: the rule, in words

// No duration may be longer: a sum of a few of them still fits 64-bit nanoseconds.
inline constexpr std::chrono::hours kLongestDuration{24 * 3650};
// A core count above this is a slip of the keyboard.
inline constexpr double kMostCores = 4096;

// 1/0/true/false/yes/no/on/off, any case.
Parsed<bool> parse_boolean(std::string_view text);
// Bytes, 1 to 2^63-1. "512m", "2GiB", "1.5g"; a plain number is MiB. Units are powers of 1024
// whether written k, kb or kib, as docker counts them. A fraction must come to whole bytes.
Parsed<std::uint64_t> parse_size(std::string_view text);
// 1 ms to kLongestDuration. "30s", "5m", "250ms", "1.5h", "1d"; a plain number is seconds. A
// fraction must come to whole milliseconds.
Parsed<std::chrono::milliseconds> parse_duration(std::string_view text);
// Cores: "0.5", "2"; at least 0.001, at most kMostCores.
Parsed<double> parse_cpu(std::string_view text);
// 1 to 2^63-1.
Parsed<std::uint64_t> parse_count(std::string_view text);
// Any 64-bit integer, digits with an optional minus sign: for plugins' own settings.
Parsed<std::int64_t> parse_integer(std::string_view text);
// Any finite number in decimal or exponent notation: for plugins' own settings.
Parsed<double> parse_number(std::string_view text);

// The shortest spelling that the parsers above read back to the same value.
std::string format_size(std::uint64_t bytes);
std::string format_duration(std::chrono::milliseconds span);

}  // namespace exechost::settings

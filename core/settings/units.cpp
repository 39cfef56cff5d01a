#include "core/settings/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace exechost::settings {
namespace {

constexpr std::string_view kSizeRule =
    "a size is a number above 0 with an optional unit b, k, m, g or t (also kb, KiB, ...; powers of 1024), such as "
    "512m or 2GiB; a plain number is MiB";
constexpr std::string_view kDurationRule =
    "a duration is a number above 0 with an optional unit ms, s, m, h or d, such as 30s or 5m, and at most 3650d; a "
    "plain number is seconds";
constexpr std::string_view kCpuRule = "a number of cores is a decimal number from 0.001 to 4096, such as 0.5 or 2";
constexpr std::string_view kCountRule = "a count is a whole number of at least 1";
constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::uint64_t kKi = 1024;
constexpr std::array kSizeUnits{
    Unit{"t", kKi* kKi* kKi* kKi}, Unit{"g", kKi* kKi* kKi}, Unit{"m", kKi* kKi}, Unit{"k", kKi}, Unit{"b", 1},
};
constexpr std::array kDurationUnits{
    Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1000}, Unit{"ms", 1},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// A decimal number cut in its parts; no sign, no exponent.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
  std::string_view unit;
};

std::optional<Decimal> split(std::string_view text) {
  Decimal parts;
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == 0) return std::nullopt;
  parts.whole = text.substr(0, end);
  text.remove_prefix(end);
  if (!text.empty() && text[0] == '.') {
    end = 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == 1) return std::nullopt;
    parts.fraction = text.substr(1, end - 1);
    text.remove_prefix(end);
  }
  parts.unit = text;
  return parts;
}

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// number * factor, exactly; nothing when that is no whole number, 0 or above 2^63-1.
std::optional<std::uint64_t> scaled(const Decimal& number, std::uint64_t factor) {
  const auto whole = digits(number.whole);
  std::uint64_t result = 0;
  if (!whole || __builtin_mul_overflow(*whole, factor, &result)) return std::nullopt;
  if (!number.fraction.empty()) {
    if (number.fraction.size() > 9) return std::nullopt;
    std::uint64_t power = 1;
    for (std::size_t i = 0; i < number.fraction.size(); ++i) power *= 10;
    const auto fraction = digits(number.fraction);
    std::uint64_t product = 0;
    if (!fraction || __builtin_mul_overflow(*fraction, factor, &product) || product % power != 0) return std::nullopt;
    if (__builtin_add_overflow(result, product / power, &result)) return std::nullopt;
  }
  if (result == 0 || result > kLargest) return std::nullopt;
  return result;
}

// "kb" and "kib" to "k".
std::string_view size_unit(std::string_view unit) {
  if (unit.size() > 1 && unit.back() == 'b') unit.remove_suffix(1);
  if (unit.size() > 1 && unit.back() == 'i') unit.remove_suffix(1);
  return unit;
}

template <class Units>
std::optional<std::uint64_t> factor_of(const Units& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

tl::unexpected<std::string> broken(std::string_view rule) { return tl::unexpected(std::string(rule)); }

}  // namespace

Parsed<bool> parse_boolean(std::string_view text) {
  const std::string word = lowered(text);
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (word == no) return false;
  }
  return broken("a switch is one of 1, 0, true, false, yes, no, on, off");
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
  const std::string word = lowered(text);
  const auto number = split(word);
  if (!number) return broken(kSizeRule);
  const auto factor = number->unit.empty() ? std::optional(kKi * kKi) : factor_of(kSizeUnits, size_unit(number->unit));
  if (!factor) return broken(kSizeRule);
  const auto bytes = scaled(*number, *factor);
  if (!bytes) return broken(kSizeRule);
  return *bytes;
}

Parsed<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const std::string word = lowered(text);
  const auto number = split(word);
  if (!number) return broken(kDurationRule);
  const auto factor =
      number->unit.empty() ? std::optional<std::uint64_t>(1000) : factor_of(kDurationUnits, number->unit);
  if (!factor) return broken(kDurationRule);
  const auto count = scaled(*number, *factor);
  if (!count) return broken(kDurationRule);
  const std::chrono::milliseconds span(static_cast<std::int64_t>(*count));
  if (span > kLongestDuration) return broken(kDurationRule);
  return span;
}

Parsed<double> parse_cpu(std::string_view text) {
  const auto number = split(text);
  if (!number || !number->unit.empty()) return broken(kCpuRule);
  double cores = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cores);
  if (error != std::errc() || end != text.data() + text.size()) return broken(kCpuRule);
  if (cores < 0.001 || cores > kMostCores) return broken(kCpuRule);
  return cores;
}

Parsed<std::uint64_t> parse_count(std::string_view text) {
  if (text.empty() || !is_digit(text[0])) return broken(kCountRule);
  const auto value = digits(text);
  if (!value || *value == 0 || *value > kLargest) return broken(kCountRule);
  return *value;
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return broken("a whole number is digits with an optional minus sign and fits 64 bits");
  }
  return value;
}

Parsed<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return broken("a number is finite and in decimal notation, such as 2 or 0.5");
  }
  return value;
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array kNames{"TiB", "GiB", "MiB", "KiB", "B"};
  for (std::size_t i = 0; i < kSizeUnits.size(); ++i) {
    if (bytes >= kSizeUnits[i].factor && bytes % kSizeUnits[i].factor == 0) {
      return fmt::format("{}{}", bytes / kSizeUnits[i].factor, kNames[i]);
    }
  }
  return fmt::format("{}B", bytes);
}

std::string format_duration(std::chrono::milliseconds span) {
  const auto count = static_cast<std::uint64_t>(span.count());
  for (const Unit& unit : kDurationUnits) {
    if (count >= unit.factor && count % unit.factor == 0) return fmt::format("{}{}", count / unit.factor, unit.name);
  }
  return fmt::format("{}ms", count);
}

}  // namespace exechost::settings

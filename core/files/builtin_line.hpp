// Words of a line that a built-in of the guest wrote (guest/files/report.hpp).
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace exechost::files {

// The longest line there can be.
extern const std::size_t kLongestBuiltinLine;

// Takes the first word off.
inline std::string_view take_word(std::string_view& line) {
  const std::size_t blank = line.find(' ');
  const std::string_view first = line.substr(0, blank);
  line = blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
  return first;
}

// Takes a number off; false: there is none, or it doesn't fit.
template <class Number>
bool take_number(std::string_view& line, Number& value) {
  const std::string_view digits = take_word(line);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
}

// A path without its coding.
std::string decode_path(std::string_view text);

}  // namespace exechost::files

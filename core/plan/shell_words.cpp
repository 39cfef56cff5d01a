#include "core/plan/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/base/utf8.hpp"

namespace exechost::plan {
namespace {

constexpr std::size_t kMostBytesOfAWord = 120UL * 1024;  // MAX_ARG_STRLEN is 128 KiB, its NUL included

bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }

std::string with_escapes(std::string_view word) {
  std::string quoted = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (is_printable_ascii(c)) {
      quoted += c;
    } else {
      fmt::format_to(std::back_inserter(quoted), "\\x{:02x}", static_cast<std::uint8_t>(c));
    }
  }
  return quoted + "'";
}

std::string in_quotes(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  return escape_for_terminal(word) == word ? in_quotes(word) : with_escapes(word);
}

std::string shell_line(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return line;
}

std::vector<std::string> script_parts(std::string_view script) {
  std::vector<std::string> parts;
  do {
    std::size_t size = std::min(script.size(), kMostBytesOfAWord);
    // Not inside a character, which has four bytes at most.
    for (int i = 0; i < 3 && size < script.size() && (static_cast<unsigned char>(script[size]) & 0xC0U) == 0x80U; ++i) {
      --size;
    }
    parts.emplace_back(script.substr(0, size));
    script.remove_prefix(size);
  } while (!script.empty());
  return parts;
}

std::string joined_parameters(std::size_t count) {
  std::string text;
  for (std::size_t i = 1; i <= count; ++i) fmt::format_to(std::back_inserter(text), "${{{}}}", i);
  return text;
}

std::vector<std::string> script_words(std::string_view shell, std::string_view script) {
  std::vector<std::string> words{std::string(shell), "-c"};
  auto parts = script_parts(script);
  if (parts.size() > 1) {
    // On the line of the script's first, so that its line numbers stay.
    words.push_back(fmt::format("eval \"set --; {}\"", joined_parameters(parts.size())));
    words.emplace_back(shell);
  }
  for (std::string& part : parts) words.push_back(std::move(part));
  return words;
}

}  // namespace exechost::plan

// A string out of one of ExecHost's JSON documents, for a backend that needs no more of them. Included by
// backend.hpp.
#ifndef EXECHOST_BACKEND_JSON_HPP
#define EXECHOST_BACKEND_JSON_HPP

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace exechost::sdk {
inline namespace v1 {

namespace detail {

// Goes through a JSON text from left to right. Each function says whether what it is named for stood
// there, and goes past it; after a "no" the place is of no use. Never beyond the text, never recursive.
class JsonText {
 public:
  explicit JsonText(std::string_view text) noexcept : rest_(text) {}

  // Into an object, up to the value of its first member of that name.
  bool member(std::string_view name) {
    if (!mark('{')) return false;
    while (const std::optional<std::string> key = string()) {
      if (!mark(':')) return false;
      if (*key == name) return true;
      if (!value() || !mark(',')) return false;
    }
    return false;
  }

  std::optional<std::string> string() {
    if (!mark('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty()) {
      const char c = next();
      if (c == '"') return text;
      if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
      if (c != '\\') {
        text += c;
      } else if (!escaped(text)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  char next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  bool mark(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_space() {
    const std::size_t start = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(start == std::string_view::npos ? rest_.size() : start);
  }

  // Any value. Brackets are counted, not matched: this is no validator.
  bool value() {
    std::size_t depth = 0;
    do {
      skip_space();
      if (rest_.empty()) return false;
      const char c = rest_.front();
      if (c == '"') {
        if (!string()) return false;
      } else if (c == '{' || c == '[') {
        ++depth;
        rest_.remove_prefix(1);
      } else if (c == '}' || c == ']') {
        if (depth == 0) return false;
        --depth;
        rest_.remove_prefix(1);
      } else if (c == ',' || c == ':') {
        if (depth == 0) return false;
        rest_.remove_prefix(1);
      } else {
        const std::size_t end = rest_.find_first_of("\"{}[],: \t\r\n");
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
      }
    } while (depth != 0);
    return true;
  }

  // What follows a backslash.
  bool escaped(std::string& text) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (rest_.empty()) return false;
    const char letter = next();
    if (const std::size_t place = kLetters.find(letter); place != std::string_view::npos) {
      text += kMeanings[place];
      return true;
    }
    return letter == 'u' && code_point(text);
  }

  bool code_point(std::string& text) {
    std::optional<unsigned> code = four_digits();
    if (!code || (*code >= 0xdc00 && *code < 0xe000)) return false;
    if (*code >= 0xd800 && *code < 0xdc00) {  // the first half of a pair
      if (!rest_.starts_with("\\u")) return false;
      rest_.remove_prefix(2);
      const std::optional<unsigned> second = four_digits();
      if (!second || *second < 0xdc00 || *second >= 0xe000) return false;
      code = 0x10000U + ((*code - 0xd800U) << 10U) + (*second - 0xdc00U);
    }
    append_utf8(text, *code);
    return true;
  }

  std::optional<unsigned> four_digits() {
    static constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    if (rest_.size() < 4) return std::nullopt;
    unsigned number = 0;
    for (int i = 0; i < 4; ++i) {
      const std::size_t digit = kDigits.find(next());
      if (digit == std::string_view::npos) return std::nullopt;
      number = number * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
    }
    return number;
  }

  static void append_utf8(std::string& text, unsigned code) {
    const auto add = [&text](unsigned byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
      add(0xc0U | (code >> 6U));
    } else {
      if (code < 0x10000) {
        add(0xe0U | (code >> 12U));
      } else {
        add(0xf0U | (code >> 18U));
        add(0x80U | ((code >> 12U) & 0x3fU));
      }
      add(0x80U | ((code >> 6U) & 0x3fU));
    }
    add(0x80U | (code & 0x3fU));
  }

  std::string_view rest_;
};

}  // namespace detail

// The string at `path`, the names of objects' members from outside to inside; nothing when something else
// is there or the text breaks off before. For documents that ExecHost made (open, settings, a ledger entry):
// what follows the string is not looked at. A backend that reads more than this brings a JSON library.
//   json_string(document, {"init", "source"})
inline std::optional<std::string> json_string(std::string_view document, std::initializer_list<std::string_view> path) {
  detail::JsonText text(document);
  for (const std::string_view name : path) {
    if (!text.member(name)) return std::nullopt;
  }
  return text.string();
}

}  // namespace v1
}  // namespace exechost::sdk

#endif

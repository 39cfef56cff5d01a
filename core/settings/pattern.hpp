// A `pattern` of a JSON Schema.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace exechost::settings {

// A regular expression in RE2's syntax, which is JSON Schema's without backreferences and look-around.
// Matching takes time in proportion to the text and bounded memory, whatever the pattern: both may
// come from somebody else. Immutable, cheap to copy, safe to use from any thread.
class Pattern {
 public:
  // Nothing: not a regular expression, one with what RE2 leaves out, or one that needs too much memory.
  static std::optional<Pattern> compile(const std::string& text);

  // Anywhere in the text, as JSON Schema has it: ^ and $ are the text's begin and end.
  bool is_found_in(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace exechost::settings

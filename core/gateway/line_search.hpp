// Lines that hold a fixed string, in one pass and with bounded memory; what is a binary file is
// decided as grep does it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::gateway {

struct LineHit {
  std::uint64_t line = 0;  // from 1
  std::string_view text;   // without its newline; valid during the call
  bool binary = false;     // a NUL byte came in this block or before: NUL ends a line from here on
};

class LineSearch {
 public:
  // `text` holds neither a newline nor a NUL byte; empty: every line matches. Case of ASCII letters
  // does not count when `ignore_case`. A line of more than `line_bytes` fails.
  LineSearch(std::string text, bool ignore_case, std::uint64_t line_bytes);

  struct Input {
    std::string_view shown;
    std::function<Result<std::size_t>(std::uint64_t offset, std::span<char> buffer)> read_at;
    // True when the file has a hole behind `offset`: NUL bytes that nobody has to read.
    std::function<bool(std::uint64_t offset)> has_hole_behind;
  };
  // Calls `on_hit` for every line, until it returns false.
  Result<void> run(const Input& input, const std::function<bool(const LineHit&)>& on_hit);

 private:
  struct Progress;
  bool search_block(std::string_view block, Progress& progress, const std::function<bool(const LineHit&)>& on_hit);

  std::string text_;
  bool ignore_case_;
  std::uint64_t line_bytes_;
  std::string folded_;  // a block in lower case
};

}  // namespace exechost::gateway

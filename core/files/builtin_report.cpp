#include "core/files/builtin_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/files/failures.hpp"
#include "guest/files/report.hpp"
#include "guest/files/tar.hpp"

namespace exechost::files {
namespace {

constexpr std::size_t kLongestLine = 3 * (guest::tar::kMaxPath + 1) + 128;
constexpr std::array<std::string_view, 6> kReasons{"link", "socket", "fifo", "device", "unreadable", "other"};
constexpr int kLargestErrno = 4095;

std::string_view word(std::string_view& line) {
  const std::size_t blank = line.find(' ');
  const std::string_view first = line.substr(0, blank);
  line = blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
  return first;
}

template <class Number>
bool number(std::string_view& line, Number& value) {
  const std::string_view digits = word(line);
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  return error == std::errc() && end == digits.end() && !digits.empty();
}

int hex(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

std::string path_of(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
    path += coded ? static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
    if (coded) i += 2;
  }
  return path;
}

// Below the root, as an entry's.
std::string below_root(const std::string& path) {
  const std::string root = std::string(static_cast<const char*>(guest::tar::kRoot)) + "/";
  return path.starts_with(root) ? path.substr(root.size()) : path;
}

bool is_step(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

void BuiltinReport::add(std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      if (!line_too_long_) read_line(line_);
      line_.clear();
      line_too_long_ = false;
    } else if (line_.size() < kLongestLine) {
      line_ += byte;
    } else {
      line_too_long_ = true;
    }
  }
}

void BuiltinReport::finish() { line_.clear(); }

void BuiltinReport::read_line(std::string_view line) {
  const std::string_view kind = word(line);
  if (kind == "skipped") {
    const std::string_view reason = word(line);
    if (std::find(kReasons.begin(), kReasons.end(), reason) == kReasons.end()) return;
    if (skipped_.size() < guest::files::kMaxSkippedLines) skipped_.emplace_back(below_root(path_of(line)), reason);
  } else if (kind == "failed" && !failure_) {
    const std::string_view step = word(line);
    int error = 0;
    if (!is_step(step) || !number(line, error) || error < 0 || error > kLargestErrno) return;
    failure_ = from_errno(below_root(path_of(line)), step, error);
  } else if (kind == "done") {
    Done done;
    if (number(line, done.counts.files) && number(line, done.counts.folders) && number(line, done.counts.links) &&
        number(line, done.counts.bytes) && number(line, done.skipped) && line.empty()) {
      done_ = done;
    }
  }
}

}  // namespace exechost::files

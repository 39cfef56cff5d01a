#include "core/files/builtin_report.hpp"

#include <algorithm>
#include <array>

#include "core/files/builtin_line.hpp"
#include "core/files/failures.hpp"
#include "guest/files/report.hpp"
#include "guest/files/tar.hpp"

namespace exechost::files {
namespace {

constexpr std::array<std::string_view, 6> kReasons{"link", "socket", "fifo", "device", "unreadable", "other"};
constexpr int kLargestErrno = 4095;

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
    } else if (line_.size() < kLongestBuiltinLine) {
      line_ += byte;
    } else {
      line_too_long_ = true;
    }
  }
}

void BuiltinReport::finish() { line_.clear(); }

void BuiltinReport::read_line(std::string_view line) {
  const std::string_view kind = take_word(line);
  if (kind == "skipped") {
    const std::string_view reason = take_word(line);
    if (std::find(kReasons.begin(), kReasons.end(), reason) == kReasons.end()) return;
    if (skipped_.size() < guest::files::kMaxSkippedLines) skipped_.emplace_back(below_root(decode_path(line)), reason);
  } else if (kind == "failed" && !failure_) {
    const std::string_view step = take_word(line);
    int error = 0;
    if (!is_step(step) || !take_number(line, error) || error < 0 || error > kLargestErrno) return;
    const std::string path = decode_path(line);
    failure_ = from_errno(path == static_cast<const char*>(guest::tar::kRoot) ? root_ : below_root(path), step, error);
  } else if (kind == "done" || kind == "before") {
    Done done;
    if (!take_number(line, done.counts.files) || !take_number(line, done.counts.folders) ||
        !take_number(line, done.counts.links) || !take_number(line, done.counts.bytes) ||
        !take_number(line, done.skipped) || !line.empty()) {
      return;
    }
    if (kind == "done") {
      done_ = done;
    } else {
      before_ = done.counts;
    }
  }
}

}  // namespace exechost::files

#include "core/files/file_list.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/files/builtin_line.hpp"
#include "core/files/failures.hpp"

namespace exechost::files {
namespace {

constexpr std::array<std::pair<std::string_view, FileType>, 7> kTypes{{{"file", FileType::file},
                                                                       {"folder", FileType::folder},
                                                                       {"link", FileType::link},
                                                                       {"socket", FileType::socket},
                                                                       {"fifo", FileType::fifo},
                                                                       {"device", FileType::device},
                                                                       {"other", FileType::other}}};
constexpr std::uint32_t kModeBits = 07777;
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 33;  // beyond the year 2200, and in nanoseconds no overflow

}  // namespace

bool FileList::add(std::string_view bytes) {
  while (!failure_ && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() > kLongestBuiltinLine || (end != std::string_view::npos && !read_line(line_))) {
      if (!failure_) failure_ = broken_stream("", "is no list of files");
      break;
    }
    if (end == std::string_view::npos) break;
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
  return !failure_;
}

bool FileList::read_line(std::string_view line) {
  FileEntry entry;
  const std::string_view type = take_word(line);
  const auto known =
      std::find_if(kTypes.begin(), kTypes.end(), [type](const auto& item) { return item.first == type; });
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  if (known == kTypes.end() || !take_number(line, entry.mode) || entry.mode > kModeBits ||
      !take_number(line, entry.size) || !take_number(line, seconds) || !take_number(line, nanoseconds) ||
      nanoseconds < 0 || nanoseconds > 999'999'999) {
    return false;
  }
  if (entries_.size() >= most_) {
    failure_ = over_limit("", "files.max_entries", most_);
    return false;
  }
  entry.type = known->second;
  entry.modified =
      std::chrono::seconds(std::clamp(seconds, -kMostSeconds, kMostSeconds)) + std::chrono::nanoseconds(nanoseconds);
  entry.name = decode_path(line);
  entries_.push_back(std::move(entry));
  return true;
}

std::vector<FileEntry> FileList::take() {
  std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return std::move(entries_);
}

}  // namespace exechost::files

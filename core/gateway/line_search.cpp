#include "core/gateway/line_search.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/gateway/failures.hpp"

namespace exechost::gateway {
namespace {

constexpr std::size_t kBlockBytes = 96UL * 1024;  // as GNU grep: NUL bytes count from the block they are in

char folded(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte; }

std::string fold(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), folded);
  return result;
}

}  // namespace

struct LineSearch::Progress {
  std::uint64_t lines = 0;  // complete ones before the block
  bool binary = false;
};

LineSearch::LineSearch(std::string text, bool ignore_case, std::uint64_t line_bytes)
    : text_(ignore_case ? fold(text) : std::move(text)), ignore_case_(ignore_case), line_bytes_(line_bytes) {}

// `block` is whole lines, each with its newline.
bool LineSearch::search_block(std::string_view block, Progress& progress,
                              const std::function<bool(const LineHit&)>& on_hit) {
  if (ignore_case_) folded_ = fold(block);
  const std::string_view haystack = ignore_case_ ? std::string_view(folded_) : block;
  std::size_t counted = 0;
  for (std::size_t position = 0; position < block.size();) {
    std::size_t found = position;
    if (!text_.empty()) {
      const void* hit = ::memmem(haystack.data() + position, haystack.size() - position, text_.data(), text_.size());
      if (hit == nullptr) break;
      found = static_cast<std::size_t>(static_cast<const char*>(hit) - haystack.data());
    }
    const void* before = ::memrchr(block.data() + position, '\n', found - position);
    const std::size_t start =
        before == nullptr ? position : static_cast<std::size_t>(static_cast<const char*>(before) - block.data()) + 1;
    const std::size_t end = block.find('\n', found);
    progress.lines += static_cast<std::uint64_t>(std::count(block.begin() + static_cast<std::ptrdiff_t>(counted),
                                                            block.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
    counted = start;
    if (!on_hit({progress.lines + 1, block.substr(start, end - start), progress.binary})) return false;
    position = end + 1;
  }
  progress.lines +=
      static_cast<std::uint64_t>(std::count(block.begin() + static_cast<std::ptrdiff_t>(counted), block.end(), '\n'));
  return true;
}

Result<void> LineSearch::run(const Input& input, const std::function<bool(const LineHit&)>& on_hit) {
  Progress progress;
  std::string buffer;    // an unfinished line, then the block that was read
  std::size_t held = 0;  // of the unfinished line
  std::uint64_t offset = 0;
  for (bool at_end = false; !at_end;) {
    buffer.resize(held + kBlockBytes);
    const auto count = input.read_at(offset, std::span<char>(buffer).subspan(held));
    if (!count) return unexpected(count.error());
    at_end = *count < kBlockBytes;
    const bool first = offset == 0;
    offset += *count;
    buffer.resize(held + *count);
    if (!progress.binary) {
      progress.binary =
          buffer.find('\0', held) != std::string::npos || (first && !at_end && input.has_hole_behind(offset));
    }
    if (progress.binary) std::replace(buffer.begin() + static_cast<std::ptrdiff_t>(held), buffer.end(), '\0', '\n');
    if (at_end && !buffer.empty() && buffer.back() != '\n') buffer += '\n';

    const std::size_t newline = buffer.rfind('\n');
    const std::size_t whole = newline == std::string::npos ? 0 : newline + 1;
    if (!search_block(std::string_view(buffer).substr(0, whole), progress, on_hit)) return {};
    buffer.erase(0, whole);
    held = buffer.size();
    if (held > line_bytes_) {
      return unexpected(unfit(input.shown, fmt::format("has a line of more than {} bytes", line_bytes_), EFBIG,
                              "use tier \"sandbox\" for it"));
    }
  }
  return {};
}

}  // namespace exechost::gateway

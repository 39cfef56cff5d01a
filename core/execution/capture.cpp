#include "core/execution/capture.hpp"

#include <algorithm>

namespace exechost::execution {
namespace {

// Doubling would overshoot the cap; growing byte by byte would copy too often.
void append_within(std::string& text, std::string_view bytes, std::uint64_t cap) {
  const std::size_t needed = text.size() + bytes.size();
  if (needed > text.capacity()) {
    text.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(needed, 2 * text.capacity()), cap)));
  }
  text.append(bytes);
}

}  // namespace

Capture::Capture(std::uint64_t cap_bytes) : head_cap_(cap_bytes - cap_bytes / 2), tail_cap_(cap_bytes / 2) {}

void Capture::append(std::string_view bytes) {
  total_ += bytes.size();
  const auto for_head = static_cast<std::size_t>(std::min<std::uint64_t>(head_cap_ - head_.size(), bytes.size()));
  append_within(head_, bytes.substr(0, for_head), head_cap_);
  append_tail(bytes.substr(for_head));
}

void Capture::append_tail(std::string_view bytes) {
  if (bytes.empty() || tail_cap_ == 0) return;
  if (bytes.size() >= tail_cap_) {
    tail_.assign(bytes.substr(bytes.size() - static_cast<std::size_t>(tail_cap_)));
    oldest_in_tail_ = 0;
    return;
  }
  const auto fits = static_cast<std::size_t>(std::min<std::uint64_t>(tail_cap_ - tail_.size(), bytes.size()));
  append_within(tail_, bytes.substr(0, fits), tail_cap_);
  bytes.remove_prefix(fits);
  while (!bytes.empty()) {
    const std::size_t run = std::min(bytes.size(), tail_.size() - oldest_in_tail_);
    std::copy_n(bytes.begin(), run, tail_.begin() + static_cast<std::ptrdiff_t>(oldest_in_tail_));
    bytes.remove_prefix(run);
    oldest_in_tail_ = (oldest_in_tail_ + run) % tail_.size();
  }
}

CapturedStream Capture::take() {
  CapturedStream stream;
  stream.total_bytes = total_;
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(oldest_in_tail_), tail_.end());
  stream.dropped_bytes = total_ - head_.size() - tail_.size();
  stream.head_bytes = stream.dropped_bytes == 0 ? 0 : head_.size();
  stream.data = std::move(head_);
  stream.data += tail_;
  head_.clear();
  tail_ = {};
  oldest_in_tail_ = 0;
  total_ = 0;
  return stream;
}

}  // namespace exechost::execution

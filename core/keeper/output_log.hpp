// The last part of a stream, by offset from its beginning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace exechost::keeper {

class OutputLog {
 public:
  explicit OutputLog(std::size_t most_bytes) : most_(most_bytes) {}

  void append(std::string_view bytes) {
    end_ += bytes.size();
    bytes.remove_prefix(bytes.size() - std::min(bytes.size(), most_));
    kept_.insert(kept_.end(), bytes.begin(), bytes.end());
    if (kept_.size() > most_) kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(most_));
  }
  // Where what is kept begins, and where the stream ends so far.
  std::uint64_t begin() const { return end_ - kept_.size(); }
  std::uint64_t end() const { return end_; }
  // At most `most` bytes from `offset` on, or from begin() when that is later.
  std::string read(std::uint64_t offset, std::size_t most) const {
    const std::uint64_t from = std::clamp(offset, begin(), end()) - begin();
    const auto first = kept_.begin() + static_cast<std::ptrdiff_t>(from);
    return {first, first + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(most, kept_.size() - from))};
  }

 private:
  std::size_t most_;
  std::uint64_t end_ = 0;
  std::deque<char> kept_;
};

}  // namespace exechost::keeper

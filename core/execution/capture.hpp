// Keeps the head and the tail of a stream in bounded memory and counts all of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "exechost/exec_result.hpp"

namespace exechost::execution {

// Not thread-safe. Holds at most `cap_bytes` whatever is appended, and allocates only as much
// as has come. Cuts anywhere, inside a character too: the bytes are exact.
class Capture {
 public:
  explicit Capture(std::uint64_t cap_bytes);

  void append(std::string_view bytes);
  std::uint64_t total_bytes() const { return total_; }
  // True when appending `more` bytes makes the capture incomplete for the first time.
  bool would_start_dropping(std::size_t more) const { return total_ <= cap() && more > cap() - total_; }
  // Everything so far, in order; only while nothing was dropped.
  std::array<std::string_view, 2> everything() const { return {head_, tail_}; }
  // The result; leaves the capture empty.
  CapturedStream take();

 private:
  std::uint64_t cap() const { return head_cap_ + tail_cap_; }
  void append_tail(std::string_view bytes);

  std::uint64_t head_cap_;
  std::uint64_t tail_cap_;
  std::uint64_t total_ = 0;
  std::string head_;
  std::string tail_;                // a ring once it is full
  std::size_t oldest_in_tail_ = 0;  // index of the ring's first byte
};

}  // namespace exechost::execution

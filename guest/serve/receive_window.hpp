// The receiver's side of one stream's flow control: how much may be under way, and when to allow more. A stream
// whose reader keeps pace gets a larger window, as far as what all of them share allows.
#pragma once

#include "guest/serve/frames.hpp"

namespace exechost::guest {

// What the windows of one receiver may still grow by, all together.
struct WindowGrowth {
  std::uint64_t left = kWindowGrowth;
};

class ReceiveWindow {
 public:
  // False: more than was allowed.
  bool take(std::uint32_t bytes) {
    if (bytes > allowed_) return false;
    allowed_ -= bytes;
    held_ += bytes;
    return true;
  }
  // The reader has taken them.
  void consumed(std::uint32_t bytes) {
    held_ -= bytes;
    owed_ += bytes;
  }
  // A credit worth a frame is due.
  bool due() const { return owed_ >= size_ / 2; }
  // The credit to announce now.
  std::uint32_t announce(WindowGrowth& growth) {
    if (held_ == 0 && size_ < kMaxWindow && growth.left >= size_) {
      growth.left -= size_;
      owed_ += size_;
      size_ *= 2;
    }
    const std::uint32_t credit = owed_;
    allowed_ += credit;
    owed_ = 0;
    return credit;
  }
  // Gives back what it had grown by.
  void give_back(WindowGrowth& growth) {
    growth.left += size_ - kFirstWindow;
    size_ = kFirstWindow;
  }
  std::uint32_t held() const { return held_; }

 private:
  std::uint32_t size_ = kFirstWindow;
  std::uint32_t allowed_ = kFirstWindow;  // the sender may send so many
  std::uint32_t held_ = 0;                // here, not taken yet
  std::uint32_t owed_ = 0;                // taken, not announced yet
};

}  // namespace exechost::guest

// Input that a command has not taken yet: at most kMaxWindow bytes, and no memory while there is none.
#pragma once

#include <sys/mman.h>

#include <cstring>

#include "guest/serve/frames.hpp"

namespace exechost::guest {

class ByteRing {
 public:
  bool empty() const { return size_ == 0; }

  // False: no memory. The window of its stream keeps it from being more than there is room for.
  bool put(const char* bytes, std::size_t size) {
    if (size > kMaxWindow - size_ || !map()) return false;
    const std::size_t end = (begin_ + size_) % kMaxWindow;
    const std::size_t first = size < kMaxWindow - end ? size : kMaxWindow - end;
    std::memcpy(base_ + end, bytes, first);
    std::memcpy(base_, bytes + first, size - first);
    size_ += size;
    return true;
  }

  // The oldest bytes that lie together.
  const char* front(std::size_t& size) const {
    size = size_ < kMaxWindow - begin_ ? size_ : kMaxWindow - begin_;
    return base_ + begin_;
  }

  void drop(std::size_t size) {
    begin_ = (begin_ + size) % kMaxWindow;
    size_ -= size;
    if (size_ == 0) clear();
  }

  void clear() {
    if (base_ != nullptr) ::munmap(base_, kMaxWindow);
    base_ = nullptr;
    begin_ = size_ = 0;
  }

 private:
  bool map() {
    if (base_ != nullptr) return true;
    void* const memory = ::mmap(nullptr, kMaxWindow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    base_ = static_cast<char*>(memory);
    return true;
  }

  char* base_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace exechost::guest

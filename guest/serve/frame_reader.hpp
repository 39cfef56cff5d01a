// Takes frames out of a byte stream. A buffer of fixed size: no length that comes in makes it any larger.
#pragma once

#include <cstring>

#include "guest/serve/frames.hpp"

namespace exechost::guest {

class FrameReader {
 public:
  explicit FrameReader(Sender sender) : sender_(sender) {}

  enum class Got { bytes, nothing, closed };
  // One read(2) into what room there is. Nothing: it would block, or there is no room before next() was called.
  Got fill(int fd);

  enum class Next { frame, incomplete, malformed };
  // The next whole frame. The payload is valid until fill() is called. Malformed: for good.
  Next next(FrameHeader& header, const char*& payload);

  // For bytes that come from elsewhere; returns how many it took.
  std::size_t put(const char* bytes, std::size_t size);

  // A payload whose header says that it has this type.
  template <class T>
  static T as(const char* payload) {
    T value;
    std::memcpy(&value, payload, sizeof value);
    return value;
  }

 private:
  // A frame is half there at most when the rest is read; what follows it takes part in the same read.
  static constexpr std::size_t kSize = 4 * (sizeof(FrameHeader) + kMaxPayload);

  void make_room();

  const Sender sender_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool malformed_ = false;
  char buffer_[kSize];
};

}  // namespace exechost::guest

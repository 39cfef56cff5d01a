// Puts frames into a byte stream. A buffer of fixed size: who has something to say asks for room first, and says it
// later when there is none.
#pragma once

#include <cstring>

#include "guest/serve/frames.hpp"

namespace exechost::guest {

class FrameWriter {
 public:
  // Room for a frame with a payload of that size.
  bool has_room(std::size_t payload) const { return kSize - size() >= sizeof(FrameHeader) + payload; }
  // The size of the largest payload that there is room for at this moment.
  std::size_t room() const {
    const std::size_t left = kSize - size();
    return left <= sizeof(FrameHeader) ? 0 : left - sizeof(FrameHeader);
  }
  bool empty() const { return begin_ == end_; }

  // False, and nothing is put, when there is no room.
  bool put(FrameType type, std::uint32_t execution, StreamId stream = StreamId::input, const void* payload = nullptr,
           std::size_t size = 0);
  template <class T>
  bool put(FrameType type, std::uint32_t execution, const T& payload, StreamId stream = StreamId::input) {
    return put(type, execution, stream, &payload, sizeof payload);
  }
  // Where the payload of the next frame, of at most `size` bytes (room()), is to be read into; put_read makes a
  // frame of what came.
  char* next_payload(std::size_t size);
  void put_read(FrameType type, std::uint32_t execution, StreamId stream, std::size_t size);

  enum class Flushed { all, later, closed };
  // As much as the descriptor takes without blocking.
  Flushed flush(int fd);

 private:
  static constexpr std::size_t kSize = 4 * (sizeof(FrameHeader) + kMaxPayload);

  std::size_t size() const { return end_ - begin_; }
  void make_room(std::size_t payload);

  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  char buffer_[kSize];
};

}  // namespace exechost::guest

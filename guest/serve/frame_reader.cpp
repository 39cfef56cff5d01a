#include "guest/serve/frame_reader.hpp"

#include <unistd.h>

#include <cerrno>

namespace exechost::guest {

// Moves what is left only when little room is behind it: that is once in some reads, and of half a frame.
void FrameReader::make_room() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ == 0 || kSize - end_ >= kSize / 2) return;
  std::memmove(buffer_, buffer_ + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
}

FrameReader::Got FrameReader::fill(int fd) {
  make_room();
  if (end_ == kSize) return Got::nothing;
  ssize_t count = -1;
  do {
    count = ::read(fd, buffer_ + end_, kSize - end_);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Got::nothing;
  if (count <= 0) return Got::closed;
  end_ += static_cast<std::size_t>(count);
  return Got::bytes;
}

std::size_t FrameReader::put(const char* bytes, std::size_t size) {
  make_room();
  const std::size_t taken = size < kSize - end_ ? size : kSize - end_;
  std::memcpy(buffer_ + end_, bytes, taken);
  end_ += taken;
  return taken;
}

FrameReader::Next FrameReader::next(FrameHeader& header, const char*& payload) {
  if (malformed_) return Next::malformed;
  if (end_ - begin_ < sizeof header) return Next::incomplete;
  std::memcpy(&header, buffer_ + begin_, sizeof header);
  // Before the payload is waited for: a length that can't be is never believed.
  if (!is_valid(header, sender_)) {
    malformed_ = true;
    return Next::malformed;
  }
  if (end_ - begin_ - sizeof header < header.length) return Next::incomplete;
  payload = buffer_ + begin_ + sizeof header;
  begin_ += sizeof header + header.length;
  return Next::frame;
}

}  // namespace exechost::guest

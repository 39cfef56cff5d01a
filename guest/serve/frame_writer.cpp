#include "guest/serve/frame_writer.hpp"

#include <unistd.h>

#include <cerrno>

namespace exechost::guest {

void FrameWriter::make_room(std::size_t payload) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ == 0 || kSize - end_ >= sizeof(FrameHeader) + payload) return;
  std::memmove(buffer_, buffer_ + begin_, size());
  end_ -= begin_;
  begin_ = 0;
}

char* FrameWriter::next_payload(std::size_t size) {
  make_room(size);
  return buffer_ + end_ + sizeof(FrameHeader);
}

void FrameWriter::put_read(FrameType type, std::uint32_t execution, StreamId stream, std::size_t size) {
  const FrameHeader header{static_cast<std::uint32_t>(size), type, stream, execution};
  std::memcpy(buffer_ + end_, &header, sizeof header);
  end_ += sizeof header + size;
}

bool FrameWriter::put(FrameType type, std::uint32_t execution, StreamId stream, const void* payload, std::size_t size) {
  if (!has_room(size)) return false;
  char* const place = next_payload(size);
  if (size != 0) std::memcpy(place, payload, size);
  put_read(type, execution, stream, size);
  return true;
}

FrameWriter::Flushed FrameWriter::flush(int fd) {
  while (begin_ != end_) {
    const ssize_t written = ::write(fd, buffer_ + begin_, size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Flushed::later;
    if (written < 0) return Flushed::closed;
    begin_ += static_cast<std::size_t>(written);
  }
  begin_ = end_ = 0;
  return Flushed::all;
}

}  // namespace exechost::guest

#include "core/keeper/stream_output.hpp"

#include <cerrno>

#include "core/keeper/stream_link.hpp"

namespace exechost::keeper {

std::size_t StreamOutput::write_some(const char* bytes, std::size_t size) {
  std::size_t done = 0;
  while (fd_ && done < size) {
    const ssize_t count = write_to_pipe(fd_.get(), bytes + done, size - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count < 0 && errno == EAGAIN) {
      break;
    } else {
      reader_gone();
    }
  }
  moved_ += done;
  return done;
}

bool StreamOutput::data(const char* bytes, std::uint32_t size) {
  if (closed_ || !window_.take(size)) return false;
  moved_ += size;
  const std::size_t done = waiting() ? 0 : write_some(bytes, size);
  if (!fd_) {
    window_.consumed(size);  // nobody wants it; the guest hears of that
    return true;
  }
  window_.consumed(static_cast<std::uint32_t>(done));
  // A reader that is always a little behind must not make it grow.
  if (sent_ >= guest::kFirstWindow) {
    pending_.erase(0, sent_);
    sent_ = 0;
  }
  pending_.append(bytes + done, size - done);
  return true;
}

bool StreamOutput::closed() {
  if (closed_) return false;
  closed_ = true;
  tell_gone_ = false;
  if (!waiting()) fd_.reset();
  return true;
}

void StreamOutput::write() {
  const std::size_t done = write_some(pending_.data() + sent_, pending_.size() - sent_);
  if (!fd_) return;
  window_.consumed(static_cast<std::uint32_t>(done));
  sent_ += done;
  if (sent_ != pending_.size()) return;
  pending_.clear();
  sent_ = 0;
  if (pending_.capacity() > guest::kFirstWindow) pending_.shrink_to_fit();
  if (closed_) fd_.reset();
}

void StreamOutput::reader_gone() {
  if (!fd_) return;
  fd_.reset();
  window_.consumed(static_cast<std::uint32_t>(pending_.size() - sent_));
  pending_ = {};
  sent_ = 0;
  tell_gone_ = !closed_;
}

void StreamOutput::say(guest::FrameWriter& writer, std::uint32_t execution, guest::StreamId stream,
                       guest::WindowGrowth& growth) {
  if (tell_gone_ && writer.put(guest::FrameType::closed, execution, stream)) tell_gone_ = false;
  if (closed_ || !fd_ || !window_.due() || !writer.has_room(sizeof(guest::Credit))) return;
  writer.put(guest::FrameType::credit, execution, guest::Credit{window_.announce(growth)}, stream);
}

}  // namespace exechost::keeper

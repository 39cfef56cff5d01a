#include "core/execution/sink.hpp"

#include <cerrno>
#include <utility>

namespace exechost::execution {

Sink::Sink(std::shared_ptr<SharedFd> target, std::function<void()> on_progress)
    : target_(std::move(target)), on_progress_(std::move(on_progress)) {}

void Sink::offer(std::string_view bytes) {
  if (closed_ || bytes.empty()) return;
  if (!idle()) {
    pending_ += bytes;
    return;
  }
  bytes.remove_prefix(write_now(bytes));
  if (closed_ || bytes.empty()) return;
  pending_ = bytes;
  offset_ = 0;
  wait();
}

std::size_t Sink::write_now(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = target_->write_some(bytes.substr(written));
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count == 0 || errno == EAGAIN) {
      break;
    } else {
      close(errno);
      break;
    }
  }
  return written;
}

void Sink::wait() {
  target_->async_ready([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->flush();
  });
}

void Sink::flush() {
  if (closed_) return;
  offset_ += write_now(std::string_view(pending_).substr(offset_));
  if (closed_) return on_progress_();
  if (offset_ < pending_.size()) return wait();
  pending_.clear();
  offset_ = 0;
  on_progress_();
}

void Sink::close(int error_number) {
  closed_ = true;
  reader_gone_ = error_number == EPIPE;
  error_number_ = error_number == EPIPE ? 0 : error_number;
  pending_ = {};
  offset_ = 0;
}

std::size_t Sink::abandon() {
  const std::size_t lost = pending_bytes();
  target_->cancel();
  close(0);
  return lost;
}

}  // namespace exechost::execution

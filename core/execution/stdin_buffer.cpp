#include "core/execution/stdin_buffer.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace exechost::execution {
namespace {

Failure cannot_write(FailureKind kind, std::string message, int error_number) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::run;
  failure.step = "stdin";
  failure.error_number = error_number;
  failure.message = std::move(message);
  return failure;
}

}  // namespace

Result<std::size_t> StdinBuffer::write(std::string_view bytes) {
  // Notified under the lock, so that nobody is notified after on_written({}) returned.
  const std::lock_guard lock(mutex_);
  if (reader_gone_) {
    return unexpected(
        cannot_write(FailureKind::environment_lost, "the command no longer reads its standard input", EPIPE));
  }
  if (closed_) {
    return unexpected(
        cannot_write(FailureKind::invalid_request, "standard input was already closed by close_stdin", 0));
  }
  const std::size_t taken = std::min(bytes.size(), kCapacity - (bytes_.size() - offset_));
  if (taken == 0) return taken;
  if (offset_ >= kCapacity / 2) bytes_.erase(0, std::exchange(offset_, 0));
  bytes_ += bytes.substr(0, taken);
  if (notify_) notify_();
  return taken;
}

void StdinBuffer::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (notify_) notify_();
}

StdinBuffer::Taken StdinBuffer::take(std::string& into, std::size_t most) {
  const std::lock_guard lock(mutex_);
  const std::size_t count = std::min(most, bytes_.size() - offset_);
  if (count == 0) return closed_ ? Taken::end : Taken::nothing_yet;
  into.assign(bytes_, offset_, count);
  offset_ += count;
  if (offset_ == bytes_.size()) {
    bytes_.clear();
    offset_ = 0;
  }
  return Taken::bytes;
}

void StdinBuffer::on_written(std::function<void()> notify) {
  const std::lock_guard lock(mutex_);
  notify_ = std::move(notify);
}

void StdinBuffer::reader_gone() {
  const std::lock_guard lock(mutex_);
  reader_gone_ = true;
  bytes_ = {};
  offset_ = 0;
}

}  // namespace exechost::execution

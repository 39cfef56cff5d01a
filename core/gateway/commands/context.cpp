#include "core/gateway/commands/context.hpp"

#include <fmt/format.h>
#include <cerrno>

#include "core/gateway/failures.hpp"
#include "core/gateway/operations.hpp"

namespace exechost::gateway {
namespace {

constexpr std::size_t kBufferBytes = 64UL * 1024;

// What the gateway refuses looks to the command like what it may not open.
int shown_error(const Failure& failure) { return is_refusal(failure) ? EACCES : failure.error_number; }

}  // namespace

void CommandContext::out(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() > kBufferBytes) {
    sinks_.out(bytes);
  } else {
    buffer_ += bytes;
  }
}

void CommandContext::flush() {
  if (!buffer_.empty()) sinks_.out(buffer_);
  buffer_.clear();
}

void CommandContext::note(std::string_view line) {
  flush();
  sinks_.err(fmt::format("{}\n", line));
}

Result<void> CommandContext::problem(std::string_view message, const Failure& failure) {
  if (is_interruption(failure)) return unexpected(failure);
  note(fmt::format("{}: {}", message, error_text(shown_error(failure))));
  if (problems_.size() < kMostSkipped) problems_.push_back(failure);
  return {};
}

}  // namespace exechost::gateway

// The call that is under way. Included by backend.hpp.
#ifndef EXECHOST_BACKEND_CALL_HPP
#define EXECHOST_BACKEND_CALL_HPP

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

#include "exechost/backend/outcome.hpp"
#include "exechost/backend/support.hpp"
#include "exechost/plugin.h"

namespace exechost::sdk {
inline namespace v1 {

// The deadline and the cancellation of the call that is under way, and the way back for
// progress. Non-owning; valid until the function returns. [any]
class Call {
 public:
  explicit Call(const eh_call* raw) noexcept : raw_(raw) {}

  const eh_call* raw() const noexcept { return raw_; }
  std::int64_t deadline_ns() const noexcept { return raw_->deadline_ns; }  // CLOCK_MONOTONIC; INT64_MAX: none
  int cancel_fd() const noexcept { return raw_->cancel_fd; }               // poll it, never read from it; may be -1

  bool cancelled() const noexcept {
    if (raw_->cancel_fd < 0) return false;
    pollfd entry{raw_->cancel_fd, POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }
  // EH_CANCELLED or EH_TIMED_OUT when the call should stop now.
  std::optional<Failure> should_stop() const {
    if (cancelled()) return Failure::cancelled();
    if (now_ns() >= raw_->deadline_ns) return Failure::timed_out();
    return std::nullopt;
  }
  // Waits until `fd` reports `events` (poll(2)); stops for the deadline and for cancellation.
  Outcome<void> wait_for(int fd, short events = POLLIN) const {
    for (;;) {
      // A negative descriptor is ignored by poll.
      pollfd entries[2] = {{fd, events, 0}, {raw_->cancel_fd, POLLIN, 0}};
      const int count = ::poll(entries, 2, milliseconds_left());
      if (count < 0 && errno != EINTR) return poll_failed(errno);
      if (count > 0 && entries[1].revents != 0) return Failure::cancelled();
      if (count > 0 && (entries[0].revents & POLLNVAL) != 0) return poll_failed(EBADF);
      if (count > 0 && entries[0].revents != 0) return {};
      if (now_ns() >= raw_->deadline_ns) return Failure::timed_out();
    }
  }
  // A few words for a person who waits.
  void progress(std::string_view text) const noexcept { raw_->progress(raw_->context, to_eh(text)); }

 private:
  static Failure poll_failed(int error) {
    Failure failure;
    failure.message = "waiting for a descriptor failed";
    failure.error_number = error;
    failure.step = "poll";
    return failure;
  }
  static std::int64_t now_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }
  int milliseconds_left() const noexcept {
    if (raw_->deadline_ns == INT64_MAX) return -1;
    const std::int64_t left = raw_->deadline_ns - now_ns();
    if (left <= 0) return 0;
    return static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 3'600'000));
  }

  const eh_call* raw_;
};

}  // namespace v1
}  // namespace exechost::sdk

#endif

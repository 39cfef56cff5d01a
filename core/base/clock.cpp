#include "core/base/clock.hpp"

#include <algorithm>
#include <climits>
#include <ctime>

namespace exechost {

std::int64_t monotonic_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t deadline_after(std::chrono::nanoseconds span) {
  const std::int64_t now = monotonic_now_ns();
  return span.count() > kNoDeadline - now ? kNoDeadline : now + span.count();
}

int poll_timeout_ms(std::int64_t deadline_ns) {
  if (deadline_ns == kNoDeadline) return -1;
  const std::int64_t left = deadline_ns - monotonic_now_ns();
  if (left <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((left + 999'999) / 1'000'000, INT_MAX));
}

}  // namespace exechost

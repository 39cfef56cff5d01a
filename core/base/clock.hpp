// Deadlines are absolute CLOCK_MONOTONIC nanoseconds everywhere, across processes too.
#pragma once

#include <chrono>
#include <cstdint>

namespace exechost {

inline constexpr std::int64_t kNoDeadline = INT64_MAX;

std::int64_t monotonic_now_ns();
// Now plus `span`, kNoDeadline on overflow.
std::int64_t deadline_after(std::chrono::nanoseconds span);
// Milliseconds left for poll(2): -1 for no deadline, 0 when it has passed, rounded up.
int poll_timeout_ms(std::int64_t deadline_ns);

}  // namespace exechost

#include "core/host/crash_history.hpp"

#include <algorithm>
#include <array>

namespace exechost::host {
namespace {

using namespace std::chrono_literals;

constexpr auto kForgotten = 10min;
// By the number of crashes.
constexpr std::array<std::chrono::milliseconds, 5> kWaits{0ms, 0ms, 1s, 5s, 30s};

}  // namespace

void CrashHistory::add(Time now) {
  if (is_hopeless()) return;
  if (count_ > 0 && now - last_ > kForgotten) count_ = 0;
  ++count_;
  last_ = now;
}

bool CrashHistory::is_hopeless() const { return count_ >= kWaits.size(); }

std::chrono::milliseconds CrashHistory::wait(Time now) const {
  if (count_ == 0 || is_hopeless()) return 0ms;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(last_ + kWaits.at(count_) - now);
  return std::max<std::chrono::milliseconds>(left, 0ms);
}

}  // namespace exechost::host

// How long each phase of a run took.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "core/base/clock.hpp"
#include "exechost/failure.hpp"

namespace exechost::execution {

class PhaseClock {
 public:
  void begin(Phase phase) {
    end();
    phase_ = phase;
    since_ns_ = monotonic_now_ns();
    timing_ = true;
  }
  void end() {
    if (!timing_) return;
    times_[std::string(to_string(phase_))] += std::chrono::microseconds((monotonic_now_ns() - since_ns_) / 1000);
    timing_ = false;
  }
  Phase current() const { return phase_; }
  const std::map<std::string, std::chrono::microseconds>& times() const { return times_; }

 private:
  Phase phase_ = Phase::provision;
  std::int64_t since_ns_ = 0;
  bool timing_ = false;
  std::map<std::string, std::chrono::microseconds> times_;
};

}  // namespace exechost::execution

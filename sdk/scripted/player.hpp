// Carries out what a rule says about one call.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "exechost/backend.hpp"
#include "script.hpp"

namespace scripted {

// How often each point has been called. [any]
class Counts {
 public:
  unsigned next(Point at) { return ++counts_.at(static_cast<std::size_t>(at)); }

 private:
  std::array<std::atomic<unsigned>, kPoints.size()> counts_{};
};

// Waits, then fails, throws or ends this process as `rule` says. Nothing: go on and work.
std::optional<exechost::sdk::Failure> play(const Rule* rule, const exechost::sdk::Call& call);

// Without the waiting.
std::optional<exechost::sdk::Failure> play_now(const Rule& rule);

// How many backends have been made from these settings in this process, this one included. A backend
// whose create fails is gone with everything it counted.
unsigned count_create(const std::string& settings);

}  // namespace scripted

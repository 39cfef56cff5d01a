#include "player.hpp"

#include <poll.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "raw_status.hpp"

namespace scripted {

namespace sdk = exechost::sdk;

namespace {

constexpr int kPerSecond = 1000;
constexpr long kNsPerMs = 1'000'000;

sdk::Outcome<void> wait(const Rule& rule, const sdk::Call& call) {
  if (rule.delay_ms == 0) return {};
  if (rule.stubborn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rule.delay_ms));
    return {};
  }
  const sdk::Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec span{};
  span.it_value = {rule.delay_ms / kPerSecond, rule.delay_ms % kPerSecond * kNsPerMs};
  if (!timer || ::timerfd_settime(timer.get(), 0, &span, nullptr) != 0) {
    sdk::Failure failure;
    failure.message = "no timer for the script's delay";
    failure.error_number = errno;
    failure.step = "timerfd";
    return failure;
  }
  return call.wait_for(timer.get());
}

}  // namespace

std::optional<sdk::Failure> play_now(const Rule& rule) {
  if (rule.throws) throw std::runtime_error(*rule.throws);
  if (rule.crash) std::abort();
  if (rule.fail) return rule.fail;
  if (rule.status) return return_status(*rule.status);
  return std::nullopt;
}

std::optional<sdk::Failure> play(const Rule* rule, const sdk::Call& call) {
  if (rule == nullptr) return std::nullopt;
  if (auto waited = wait(*rule, call); !waited) return waited.failure();
  return play_now(*rule);
}

unsigned count_create(const std::string& settings) {
  // Made at the first call, not while the library is loaded.
  static std::mutex mutex;
  static std::map<std::string, unsigned> counts;
  const std::lock_guard lock(mutex);
  return ++counts[settings];
}

}  // namespace scripted

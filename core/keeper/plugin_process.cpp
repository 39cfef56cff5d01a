#include "core/keeper/plugin_process.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/keeper/failures.hpp"
#include "core/keeper/plugin_call.hpp"

namespace exechost::keeper {
namespace {

constexpr unsigned char kUntouched = 0x5c;

ResourceUsage usage_of(const eh_event& event) {
  ResourceUsage usage;
  usage.user_time = std::chrono::microseconds(std::max<std::int64_t>(event.user_time_us, 0));
  usage.system_time = std::chrono::microseconds(std::max<std::int64_t>(event.system_time_us, 0));
  usage.max_rss_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(event.max_rss_bytes, 0));
  return usage;
}

}  // namespace

bool waits_for(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

ProcessNews PluginProcess::broken(const std::string& what) const {
  ProcessNews news;
  news.kind = ProcessNews::Kind::failed;
  news.failure =
      make_failure(FailureKind::protocol_error, Phase::run, fmt::format("backend \"{}\" {}", backend_, what), "wait");
  return news;
}

ProcessNews PluginProcess::news() {
  struct {
    eh_event event{};
    std::array<unsigned char, 64> beyond{};  // an author who takes the event for a larger one writes here
  } memory;
  memory.beyond.fill(kUntouched);
  eh_event& event = memory.event;
  event.struct_size = sizeof event;
  const plugin::CallLimits limits;
  bool pending = false;
  CallResult result = call_plugin(backend_, Phase::run, limits, [&](const eh_call* call) {
    const eh_status status = table_->wait(table_->self, call, &event);
    pending = status == EH_PENDING;
    return pending ? EH_OK : status;
  });
  if (std::any_of(memory.beyond.begin(), memory.beyond.end(), [](unsigned char byte) { return byte != kUntouched; })) {
    return broken("wrote beyond the event it was given to fill");
  }
  ProcessNews news;
  if (pending) return news;
  if (result.status == ReplyStatus::failed) {
    news.kind = ProcessNews::Kind::failed;
    news.failure = std::move(result.failure);
    return news;
  }
  if (result.status == ReplyStatus::ok && event.kind == EH_EVENT_STARTED) {
    if (std::exchange(started_, true)) return broken("reported twice that it started");
    news.kind = ProcessNews::Kind::started;
    return news;
  }
  if (result.status == ReplyStatus::ok && event.kind == EH_EVENT_ENDED) {
    news.kind = ProcessNews::Kind::ended;
    news.wait_status = event.wait_status;
    news.usage = usage_of(event);
    return news;
  }
  return broken(fmt::format("reported an event of unknown kind {}", event.kind));
}

void PluginProcess::signal(int number) {
  if (table_ != nullptr) table_->signal(table_->self, number);
}

void PluginProcess::release() {
  const eh_execution* const table = std::exchange(table_, nullptr);
  if (table == nullptr) return;
  try {
    table->release(table->self);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a plugin's exception; there is nothing left to do with it
  }
}

}  // namespace exechost::keeper

// What guest and plugin say about one execution, and what follows from the two together.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "core/keeper/execution.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

constexpr unsigned char kUntouched = 0x5c;

std::string end_in_words(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exited with {}", WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) return fmt::format("was ended by signal {}", WTERMSIG(wait_status));
  return fmt::format("ended with wait status {:#x}", wait_status);
}

ResourceUsage usage_of(std::int64_t user_us, std::int64_t system_us, std::int64_t rss) {
  // From the guest, so possibly nonsense; never negative.
  ResourceUsage usage;
  usage.user_time = std::chrono::microseconds(std::max<std::int64_t>(user_us, 0));
  usage.system_time = std::chrono::microseconds(std::max<std::int64_t>(system_us, 0));
  usage.max_rss_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(rss, 0));
  return usage;
}

}  // namespace

Failure Execution::not_started(int wait_status) const {
  if (kill_requested_) {
    return make_failure(FailureKind::spawn_failed, Phase::spawn, "the command was stopped before it had started",
                        "stopped");
  }
  // 2 is also what the guest says of a wrong start (guest/main.cpp).
  const bool perhaps_the_guest = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 2;
  return make_failure(
      FailureKind::provision_failed, Phase::spawn,
      fmt::format("the environment's first process {} before the command had started", end_in_words(wait_status)),
      "guest", 0,
      perhaps_the_guest
          ? "a backend's author: the guest ends with 2 when its control socket is not descriptor 3 or its "
            "arguments are not as they were given; else see what the program that starts it says"
          : "see what the program that the backend starts says on standard error");
}

// ---- guest -----------------------------------------------------------------------

void Execution::watch_guest() {
  guest_open_ = true;
  around_.loop->watch(guest_->fd(), POLLIN, [this, self = shared_from_this()](short) { read_guest(); });
}

void Execution::read_guest() {
  while (guest_open_) {
    guest::Message message;
    auto read = guest_->read(message);
    if (!read) return guest_broke(read.error());
    if (*read == GuestChannel::Read::nothing) return;
    if (*read == GuestChannel::Read::closed) {
      around_.loop->unwatch(guest_->fd());
      guest_open_ = false;
      // Its end is the environment's: the plugin has to say so soon.
      if (kill_stage_ == KillStage::none) arm(KillStage::plugin);
      return;
    }
    handle(message);
  }
}

void Execution::handle(const guest::Message& message) {
  switch (message.type) {
    case guest::MessageType::confined: {
      ExecutionEvent event;
      event.kind = ExecutionEvent::Kind::confined;
      event.landlock_abi = static_cast<int>(std::min<std::uint32_t>(message.landlock_abi, 1000));
      event.seccomp = message.seccomp == 1;
      emit(std::move(event));
      return;
    }
    case guest::MessageType::started:
      send(ExecutionEvent::Kind::started);
      for (const int number : held_signals_) guest_->send_signal(number);
      held_signals_.clear();
      return;
    case guest::MessageType::failed:
      failure_ = describe_guest_failure(message, request_);
      if (kill_stage_ == KillStage::none) arm(KillStage::plugin);
      return;
    case guest::MessageType::exited:
      send_exited(message.wait_status, usage_of(message.user_time_us, message.system_time_us, message.max_rss_bytes));
      // The guest kills what is left and ends; when it does not, the plugin is asked.
      if (kill_stage_ == KillStage::none) arm(KillStage::plugin);
      return;
    default: return;
  }
}

void Execution::guest_broke(Failure failure) {
  around_.loop->unwatch(guest_->fd());
  guest_open_ = false;
  if (!failure_) failure_ = std::move(failure);
  // Nothing it says counts from now on, so it is not asked to kill either.
  ask_plugin_to_kill();
}

// ---- plugin ----------------------------------------------------------------------

void Execution::watch_plugin() {
  around_.loop->watch(event_fd_, POLLIN, [this, self = shared_from_this()](short) { read_plugin(); });
}

Failure Execution::protocol_error(std::string_view what) const {
  return make_failure(FailureKind::protocol_error, Phase::run,
                      fmt::format("backend \"{}\" {}", environment_->backend->id(), what), "wait");
}

void Execution::read_plugin() {
  // A backend that is always ready must not starve the others: one event a round.
  struct {
    eh_event event{};
    std::array<unsigned char, 64> beyond{};  // an author who takes the event for a larger one writes here
  } memory;
  memory.beyond.fill(kUntouched);
  eh_event& event = memory.event;
  event.struct_size = sizeof event;
  const plugin::CallLimits limits;
  bool pending = false;
  CallResult result = call_plugin(environment_->backend->id(), Phase::run, limits, [&](const eh_call* call) {
    const eh_status status = table_->wait(table_->self, call, &event);
    pending = status == EH_PENDING;
    return pending ? EH_OK : status;
  });
  if (std::any_of(memory.beyond.begin(), memory.beyond.end(), [](unsigned char byte) { return byte != kUntouched; })) {
    return plugin_failed(protocol_error("wrote beyond the event it was given to fill"));
  }
  if (pending) return;
  if (result.status == ReplyStatus::failed) return plugin_failed(std::move(result.failure));
  if (result.status == ReplyStatus::ok && event.kind == EH_EVENT_STARTED) {
    if (std::exchange(plugin_started_, true)) return plugin_failed(protocol_error("reported twice that it started"));
    if (!guest_) {
      send(ExecutionEvent::Kind::started);
      for (const int number : held_signals_) table_->signal(table_->self, number);
      held_signals_.clear();
    }
    return;
  }
  if (result.status == ReplyStatus::ok && event.kind == EH_EVENT_ENDED) return plugin_ended(event);
  plugin_failed(protocol_error(fmt::format("reported an event of unknown kind {}", event.kind)));
}

void Execution::plugin_ended(const eh_event& event) {
  plugin_done_ = true;
  around_.loop->unwatch(event_fd_);
  if (guest_) {
    conclude_with_guest(std::nullopt, event.wait_status);
  } else {
    conclude_plain(event);
  }
}

void Execution::plugin_failed(Failure failure) {
  plugin_done_ = true;
  around_.loop->unwatch(event_fd_);
  if (guest_) return conclude_with_guest(std::move(failure), 0);
  const bool lost = failure.kind == FailureKind::environment_lost || failure.kind == FailureKind::protocol_error;
  const Started started = plugin_started_ ? Started::yes : lost ? Started::unknown : Started::no;
  send_failed(std::move(failure), started);
  retire();
}

void Execution::conclude_plain(const eh_event& event) {
  if (!std::exchange(plugin_started_, true)) send(ExecutionEvent::Kind::started);
  send_exited(event.wait_status, usage_of(event.user_time_us, event.system_time_us, event.max_rss_bytes));
  send(ExecutionEvent::Kind::gone);
  retire();
}

// The plugin has said its last word; the guest's last ones may still be in its socket.
void Execution::conclude_with_guest(std::optional<Failure> plugin_failure, int wait_status) {
  read_guest();
  if (failure_) {
    send_failed(*failure_, command_started());
  } else if (plugin_failure && guest_->started()) {
    plugin_failure->phase = Phase::run;
    if (plugin_failure->kind != FailureKind::protocol_error) plugin_failure->kind = FailureKind::environment_lost;
    send_failed(std::move(*plugin_failure), Started::yes);
  } else if (plugin_failure && !kill_requested_) {
    send_failed(std::move(*plugin_failure), command_started());
  } else if (!guest_->started()) {
    send_failed(not_started(wait_status), command_started());
  } else if (guest_->exited() || kill_requested_) {
    // Killed from outside on request: the guest had no time to say how the command ended.
    if (!guest_->exited()) send_exited(SIGKILL, {});
    send(ExecutionEvent::Kind::gone);
  } else {
    send_failed(make_failure(FailureKind::environment_lost, Phase::run,
                             fmt::format("the environment ended while the command ran (its first process {})",
                                         end_in_words(wait_status)),
                             "guest"),
                Started::yes);
  }
  retire();
}

}  // namespace exechost::keeper

// What guest and plugin say about one execution, and what follows from the two together.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/keeper/execution.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

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
  return command_started() == Started::no ? first_process_ended(wait_status, Phase::spawn) : lost(wait_status);
}

// Who was to say how the command ended has ended before.
Failure Execution::lost(int wait_status) const {
  const char* const when =
      guest_->started() ? "while the command ran" : "before it said whether the command had started";
  // The serving guest has seen to it that nothing of the command is left, so others can go on in its environment.
  return make_failure(FailureKind::environment_lost, Phase::run,
                      fmt::format("{} {} ({} {})", served_ ? "its supervisor ended" : "the environment ended", when,
                                  served_ ? "it" : "its first process", end_in_words(wait_status)),
                      served_ ? kSupervisorStep : "guest");
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
      if (kill_stage_ == KillStage::none) arm(KillStage::process);
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
      if (kill_stage_ == KillStage::none) arm(KillStage::process);
      return;
    case guest::MessageType::exited:
      send_exited(message.wait_status, usage_of(message.user_time_us, message.system_time_us, message.max_rss_bytes));
      // The guest kills what is left and ends; when it does not, the plugin is asked.
      if (kill_stage_ == KillStage::none) arm(KillStage::process);
      return;
    default: return;
  }
}

void Execution::guest_broke(Failure failure) {
  around_.loop->unwatch(guest_->fd());
  guest_open_ = false;
  if (!failure_) failure_ = std::move(failure);
  // Nothing it says counts from now on, so it is not asked to kill either.
  ask_process_to_end();
}

// ---- process ----------------------------------------------------------------------

void Execution::watch_process() {
  around_.loop->watch(process_->event_fd(), POLLIN, [this, self = shared_from_this()](short) { read_process(); });
}

// A backend that is always ready must not starve the others: one event a round.
void Execution::read_process() {
  ProcessNews news = process_->news();
  switch (news.kind) {
    case ProcessNews::Kind::nothing: return;
    case ProcessNews::Kind::started:
      process_started_ = true;
      if (guest_) return;
      send(ExecutionEvent::Kind::started);
      for (const int number : held_signals_) process_->signal(number);
      held_signals_.clear();
      return;
    case ProcessNews::Kind::ended:
      process_done_ = true;
      around_.loop->unwatch(process_->event_fd());
      return guest_ ? conclude_with_guest(std::nullopt, news.wait_status) : conclude_plain(news);
    case ProcessNews::Kind::failed: return process_failed(std::move(news));
  }
}

void Execution::process_failed(ProcessNews news) {
  process_done_ = true;
  perhaps_started_ = news.perhaps_started;
  around_.loop->unwatch(process_->event_fd());
  if (news.perhaps_left) {
    if (guest_) read_guest();  // what it said before may still be in its socket
    return destroy_environment();
  }
  Failure& failure = news.failure;
  if (guest_) return conclude_with_guest(std::move(failure), 0);
  const bool lost = failure.kind == FailureKind::environment_lost || failure.kind == FailureKind::protocol_error;
  const Started started = process_started_ ? Started::yes : lost ? Started::unknown : Started::no;
  send_failed(std::move(failure), started);
  retire();
}

void Execution::conclude_plain(const ProcessNews& news) {
  if (!std::exchange(process_started_, true)) send(ExecutionEvent::Kind::started);
  send_exited(news.wait_status, news.usage);
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
    send_failed(lost(wait_status), Started::yes);
  }
  retire();
}

}  // namespace exechost::keeper

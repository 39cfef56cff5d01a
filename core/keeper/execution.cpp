#include "core/keeper/execution.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

constexpr auto kKillPatience = std::chrono::seconds(2);
constexpr std::size_t kMaxHeldSignals = 16;

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

Execution::Execution(Surroundings surroundings, std::shared_ptr<Environment> environment, SpawnRequest request)
    : around_(std::move(surroundings)), environment_(std::move(environment)), request_(std::move(request)) {}

// ---- events ----------------------------------------------------------------------

void Execution::send(ExecutionEvent::Kind kind) {
  ExecutionEvent event;
  event.kind = kind;
  event.was_started = command_started();
  around_.send(std::move(event));
}

void Execution::send_failed(Failure failure, Started started) {
  if (finished_) return;
  finished_ = true;
  ExecutionEvent event;
  event.kind = ExecutionEvent::Kind::failed;
  if (failure.backend.empty()) failure.backend = environment_->backend->id();
  event.failure = std::move(failure);
  event.was_started = started;
  around_.send(std::move(event));
}

// Whether the command can have had side effects. Between `confined` and `started` its exec may
// have happened without the guest having come to say so.
Started Execution::command_started() const {
  if (!guest_) return plugin_started_ ? Started::yes : Started::no;
  if (guest_->started()) return Started::yes;
  if (failure_ && failure_->kind == FailureKind::spawn_failed) return Started::no;
  return guest_->confined() ? Started::unknown : Started::no;
}

Failure Execution::not_started(int wait_status) const {
  if (kill_requested_) {
    return make_failure(FailureKind::spawn_failed, Phase::spawn, "the command was stopped before it had started", "stopped");
  }
  return make_failure(FailureKind::provision_failed, Phase::spawn,
                      fmt::format("the environment's first process {} before the command had started", end_in_words(wait_status)),
                      "guest");
}

// ---- start -----------------------------------------------------------------------

void Execution::start(std::vector<UniqueFd> stdio) {
  ++environment_->executions;
  UniqueFd guest_end;
  if (request_.use_guest) {
    if (environment_->init.empty()) {
      send_failed(make_failure(FailureKind::unsupported, Phase::spawn, "the backend has no place for the guest (open gave no \"init\")", "guest"),
                  Started::no);
      return retire();
    }
    auto channel = GuestChannel::make(request_, guest_end);
    if (!channel) {
      send_failed(channel.error(), Started::no);
      return retire();
    }
    guest_ = std::move(*channel);
  }
  const auto self = shared_from_this();
  auto begun = around_.operations.begin(
      request_.deadline_ns, fmt::format("backend \"{}\", starting a command,", environment_->backend->id()),
      [self](const Operations::Ending& ending) { self->send_failed(ending.result.failure, Started::unknown); });
  if (!begun) {
    send_failed(begun.error(), Started::no);
    return retire();
  }
  spawning_ = *begun;

  struct Inputs {
    std::vector<UniqueFd> stdio;
    UniqueFd guest_end;
    std::vector<std::string> arguments;
    std::vector<std::string> variables;
  };
  auto inputs = std::make_shared<Inputs>();
  inputs->stdio = std::move(stdio);
  inputs->guest_end = std::move(guest_end);
  // With the guest the command itself is in the specification.
  inputs->arguments = guest_ ? std::vector<std::string>{environment_->init, "exec"} : request_.argv;
  if (!guest_) inputs->variables = request_.variables;

  auto outcome = std::make_shared<SpawnOutcome>();
  auto task = [inputs, outcome, environment = environment_, cwd = request_.cwd, tty = request_.tty](const plugin::CallLimits& limits) {
    const auto views = [](const std::vector<std::string>& texts) {
      std::vector<eh_str> out;
      for (const auto& text : texts) out.push_back(plugin::to_eh(text));
      return out;
    };
    const auto arguments = views(inputs->arguments);
    const auto variables = views(inputs->variables);
    eh_spawn spec{};
    spec.struct_size = sizeof spec;
    spec.arguments = arguments.data();
    spec.argument_count = static_cast<std::uint32_t>(arguments.size());
    spec.environment = variables.data();
    spec.environment_count = static_cast<std::uint32_t>(variables.size());
    spec.tty = tty ? 1 : 0;
    spec.working_directory = plugin::to_eh(cwd);
    spec.stdin_fd = inputs->stdio[0].get();
    spec.stdout_fd = inputs->stdio[1].get();
    spec.stderr_fd = inputs->stdio[2].get();
    spec.control_fd = inputs->guest_end ? inputs->guest_end.get() : -1;
    CallResult result = call_plugin(environment->backend->id(), Phase::spawn, limits, [&](const eh_call* call) {
      return environment->table->spawn(environment->table->self, &spec, call, &outcome->table);
    });
    // Closed before anybody waits for the streams' end.
    inputs->stdio.clear();
    inputs->guest_end.reset();
    if (result.status != ReplyStatus::ok) return result;
    const bool whole = is_whole(outcome->table);
    if (whole) outcome->event_fd = outcome->table->event_fd(outcome->table->self);
    if (outcome->event_fd < 0) {
      if (whole) outcome->table->release(outcome->table->self);
      return CallResult::failed(make_failure(FailureKind::protocol_error, Phase::spawn,
                                             fmt::format("backend \"{}\" gave an execution without functions or event descriptor",
                                                         environment->backend->id()),
                                             "spawn"));
    }
    return result;
  };
  around_.operations.run(spawning_, std::move(task), [self, outcome](Operations::Ending ending) {
    outcome->result = std::move(ending.result);
    self->spawned(*outcome, ending.stopped);
  });
}

void Execution::spawned(const SpawnOutcome& outcome, bool stopped) {
  spawning_ = 0;
  switch (outcome.result.status) {
    case ReplyStatus::ok: break;
    case ReplyStatus::failed:
      // A broken protocol says nothing about what was begun.
      send_failed(outcome.result.failure,
                  outcome.result.failure.kind == FailureKind::protocol_error ? Started::unknown : Started::no);
      return retire();
    case ReplyStatus::timed_out:
    case ReplyStatus::cancelled:
      send_failed(make_failure(FailureKind::spawn_failed, Phase::spawn,
                               outcome.result.status == ReplyStatus::timed_out ? "the deadline passed before the command had started"
                                                                               : "the command was stopped before it had started",
                               "stopped"),
                  Started::no);
      return retire();
  }
  table_ = outcome.table;
  event_fd_ = outcome.event_fd;
  watch_plugin();
  if (guest_) watch_guest();
  read_plugin();  // what it already knows, without waiting for its descriptor
  if (finished_) return kill_hard();  // it came too late: its failure was told already
  // Stopped while spawning: by a kill, or by the deadline, which for a command means the same.
  if (kill_stage_ != KillStage::none || stopped) {
    kill_stage_ = KillStage::none;
    kill();
  }
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
      around_.send(std::move(event));
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
    case guest::MessageType::exited: {
      ExecutionEvent event;
      event.kind = ExecutionEvent::Kind::exited;
      event.wait_status = message.wait_status;
      event.usage = usage_of(message.user_time_us, message.system_time_us, message.max_rss_bytes);
      event.was_started = Started::yes;
      around_.send(std::move(event));
      // The guest kills what is left and ends; when it does not, the plugin is asked.
      if (kill_stage_ == KillStage::none) arm(KillStage::plugin);
      return;
    }
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

void Execution::read_plugin() {
  // A backend that is always ready must not starve the others: one event a round.
  eh_event event{};
  event.struct_size = sizeof event;
  const plugin::CallLimits limits;
  bool pending = false;
  CallResult result = call_plugin(environment_->backend->id(), Phase::run, limits, [&](const eh_call* call) {
    const eh_status status = table_->wait(table_->self, call, &event);
    pending = status == EH_PENDING;
    return pending ? EH_OK : status;
  });
  if (pending) return;
  if (result.status == ReplyStatus::failed) return plugin_failed(std::move(result.failure));
  if (result.status == ReplyStatus::ok && event.kind == EH_EVENT_STARTED) {
    const bool first = !plugin_started_;
    plugin_started_ = true;
    if (!guest_ && first) {
      send(ExecutionEvent::Kind::started);
      for (const int number : held_signals_) table_->signal(table_->self, number);
      held_signals_.clear();
    }
    return;
  }
  if (result.status == ReplyStatus::ok && event.kind == EH_EVENT_ENDED) return plugin_ended(event);
  plugin_failed(make_failure(FailureKind::protocol_error, Phase::run,
                             fmt::format("backend \"{}\" reported an event of unknown kind {}", environment_->backend->id(), event.kind),
                             "wait"));
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
  if (!finished_) {
    if (!plugin_started_) {
      plugin_started_ = true;
      send(ExecutionEvent::Kind::started);
    }
    ExecutionEvent exited;
    exited.kind = ExecutionEvent::Kind::exited;
    exited.wait_status = event.wait_status;
    exited.usage = usage_of(event.user_time_us, event.system_time_us, event.max_rss_bytes);
    exited.was_started = Started::yes;
    around_.send(std::move(exited));
    finished_ = true;
    send(ExecutionEvent::Kind::gone);
  }
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
  } else if (plugin_failure) {
    send_failed(std::move(*plugin_failure), command_started());
  } else if (!guest_->started()) {
    send_failed(not_started(wait_status), command_started());
  } else if (guest_->exited() || kill_requested_) {
    if (!finished_ && !guest_->exited()) {
      // Killed from outside on request: the guest had no time to say how the command ended.
      ExecutionEvent exited;
      exited.kind = ExecutionEvent::Kind::exited;
      exited.wait_status = SIGKILL;
      exited.was_started = Started::yes;
      around_.send(std::move(exited));
    }
    if (!finished_) send(ExecutionEvent::Kind::gone);
    finished_ = true;
  } else {
    send_failed(make_failure(FailureKind::environment_lost, Phase::run,
                             fmt::format("the environment ended while the command ran (its first process {})", end_in_words(wait_status)),
                             "guest"),
                Started::yes);
  }
  retire();
}

// ---- signals ---------------------------------------------------------------------

void Execution::signal(int number) {
  if (number < 1 || number >= NSIG || finished_) return;
  if (number == SIGKILL) return kill();
  const bool started = guest_ ? guest_->started() : plugin_started_;
  if (!started) {
    if (held_signals_.size() < kMaxHeldSignals) held_signals_.push_back(number);
    return;
  }
  if (guest_) {
    guest_->send_signal(number);
  } else if (table_ != nullptr) {
    table_->signal(table_->self, number);
  }
}

void Execution::kill() {
  kill_requested_ = true;
  if (retired_ || kill_stage_ != KillStage::none) return;
  kill_stage_ = KillStage::guest;
  if (spawning_ != 0) return around_.operations.cancel(spawning_);
  if (guest_ && guest_open_ && guest_->send_kill()) return arm(KillStage::plugin);
  ask_plugin_to_kill();
}

void Execution::kill_hard() {
  if (retired_) return;
  if (spawning_ != 0) return kill();
  kill_requested_ = true;
  if (guest_ && guest_open_) guest_->send_kill();
  ask_plugin_to_kill();
}

void Execution::ask_plugin_to_kill() {
  if (retired_ || plugin_done_ || table_ == nullptr) return;
  if (kill_stage_ == KillStage::plugin || kill_stage_ == KillStage::environment) return;
  kill_stage_ = KillStage::plugin;
  table_->signal(table_->self, SIGKILL);
  arm(KillStage::environment);
}

void Execution::give_up_on_plugin() {
  if (retired_ || kill_stage_ == KillStage::environment) return;
  kill_stage_ = KillStage::environment;
  unwatch();
  const auto self = shared_from_this();
  retire();
  around_.destroy_environment([self](const CallResult& result) {
    std::string message = "the command could not be killed, so its environment was destroyed";
    if (result.status != ReplyStatus::ok) {
      message = fmt::format("the command could not be killed, and its environment could not be destroyed: {}",
                            result.failure.message.empty() ? "no answer in time" : result.failure.message);
    }
    self->send_failed(make_failure(FailureKind::environment_lost, Phase::run, std::move(message), "kill"), self->command_started());
  });
}

void Execution::arm(KillStage next) {
  disarm();
  kill_timer_ = around_.loop->at(deadline_after(kKillPatience), [self = shared_from_this(), next] {
    self->kill_timer_ = 0;
    if (next == KillStage::environment) {
      self->give_up_on_plugin();
    } else {
      self->ask_plugin_to_kill();
    }
  });
}

void Execution::disarm() {
  around_.loop->cancel(kill_timer_);
  kill_timer_ = 0;
}

// ---- end -------------------------------------------------------------------------

void Execution::unwatch() {
  if (guest_ && guest_open_) around_.loop->unwatch(guest_->fd());
  guest_open_ = false;
  if (event_fd_ >= 0) around_.loop->unwatch(event_fd_);
}

void Execution::retire() {
  if (retired_) return;
  retired_ = true;
  disarm();
  unwatch();
  const auto self = shared_from_this();
  const auto forget = [self] {
    const auto environment = self->environment_;
    self->around_.retired();
    if (--environment->executions == 0 && environment->when_idle) std::exchange(environment->when_idle, nullptr)();
  };
  if (table_ == nullptr) return forget();
  // release may have to kill and wait.
  auto release = [table = table_, environment = environment_, loop = around_.loop, forget] {
    try {
      table->release(table->self);
    } catch (...) {  // NOLINT(bugprone-empty-catch): a plugin's exception; there is nothing left to do with it
    }
    loop->post(forget);
  };
  try {
    around_.pool.submit(release);
  } catch (const std::exception&) {
    release();
  }
}

}  // namespace exechost::keeper

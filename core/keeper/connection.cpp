#include "core/keeper/connection.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/listed.hpp"
#include "core/keeper/named_sessions.hpp"

namespace exechost::keeper {
namespace {

constexpr std::size_t kMaxAnswerBytes = 1024UL * 1024;
constexpr auto kCloseTime =
    std::chrono::seconds(3);  // for environments that end because the host is gone or a kill failed
constexpr auto kEndTime = std::chrono::seconds(6);  // after which a session ends with what is still stuck

Reply reply_from(const CallResult& result, nlohmann::json body = nullptr) {
  Reply reply;
  reply.status = result.status;
  reply.failure = result.failure;
  reply.body = std::move(body);
  return reply;
}

using BackendCall = std::function<eh_status(const eh_backend&, const eh_call*)>;
CallResult call_backend(Core& core, const PluginChoice& plugin, Phase phase, const plugin::CallLimits& limits,
                        const BackendCall& function) {
  std::shared_ptr<Backend> backend;
  CallResult made = core.backends.get(plugin, limits, backend);
  if (made.status != ReplyStatus::ok) return made;
  return call_plugin(backend->id(), phase, limits,
                     [&](const eh_call* call) { return function(*backend->table(), call); });
}

}  // namespace

Connection::Connection(std::shared_ptr<Core> core, WorkerPool& pool, UniqueFd socket, int host_pidfd,
                       NamedSessions* sessions, std::function<void(bool settled)> over)
    : core_(std::move(core)),
      loop_(core_, &core_->loop),
      pool_(pool),
      socket_(std::move(socket)),
      host_pidfd_(host_pidfd),
      sessions_(sessions),
      over_(std::move(over)),
      operations_(loop_, pool_),
      environments_(core_, operations_, [this] { finish_when_done(); }) {}

Connection::~Connection() { loop_->cancel(end_timer_); }

void Connection::start() {
  operations_.when_empty([this] { finish_when_done(); });
  loop_->watch(socket_.get(), POLLIN, [this](short events) {
    if ((events & POLLOUT) != 0) writable();
    if ((events & ~POLLOUT) != 0) readable();
  });
  if (host_pidfd_ >= 0) {
    loop_->watch(host_pidfd_, POLLIN, [this](short) { host_is_gone(); });
  }
}

// ---- the socket ------------------------------------------------------------------

void Connection::readable() {
  while (!ending_) {
    Packet packet;
    const auto received = receive_packet(socket_.get(), packet);
    if (!received || *received == ReceiveResult::closed) return host_is_gone();
    if (*received == ReceiveResult::would_block) return;
    // A host that breaks the protocol is treated as one that died.
    if (!dispatch(std::move(packet))) return host_is_gone();
  }
}

void Connection::writable() {
  int error = 0;
  while (!outgoing_.empty()) {
    const SendResult sent = send_packet(socket_.get(), outgoing_.front(), error);
    if (sent == SendResult::closed) return host_is_gone();
    if (sent == SendResult::would_block) break;
    outgoing_.pop_front();
  }
  loop_->watch(socket_.get(), static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT), [this](short events) {
    if ((events & POLLOUT) != 0) writable();
    if ((events & ~POLLOUT) != 0) readable();
  });
}

void Connection::send(const KeeperMessage& message) {
  if (ending_) return;
  Packet packet;
  packet.body = encode(message);
  auto encoded = encode_packet(std::move(packet));
  if (!encoded) return;  // no memory: the host's deadline has to notice
  outgoing_.push_back(std::move(*encoded));
  if (outgoing_.size() == 1) writable();
}

void Connection::reply(std::uint64_t ticket, Reply reply) {
  if (requests_.erase(ticket) == 0) return;  // answered before
  send({ticket, std::move(reply)});
}

void Connection::reply_failed(std::uint64_t ticket, Failure failure) {
  requests_.try_emplace(ticket, 0);
  reply(ticket, reply_from(CallResult::failed(std::move(failure))));
}

bool Connection::dispatch(Packet packet) {
  auto message = decode_host_message(packet.body);
  if (!message) return false;
  const std::uint64_t ticket = message->ticket;
  if (auto* request = std::get_if<ProbeRequest>(&message->body)) {
    probe(ticket, std::move(*request));
  } else if (auto* opening = std::get_if<OpenRequest>(&message->body)) {
    open(ticket, std::move(*opening));
  } else if (auto* spawning = std::get_if<SpawnRequest>(&message->body)) {
    const std::size_t expected = spawning->background ? 0 : spawning->stdio.size();
    if (packet.descriptors.size() != expected && !packet.descriptors_lost) return false;
    if (executions_.contains(ticket)) return false;
    spawn(ticket, std::move(*spawning), std::move(packet));
  } else if (const auto* closing = std::get_if<CloseRequest>(&message->body)) {
    close(ticket, *closing);
  } else if (auto* listing = std::get_if<ListRequest>(&message->body)) {
    list(ticket, std::move(*listing));
  } else if (auto* reaping = std::get_if<ReapRequest>(&message->body)) {
    reap(ticket, std::move(*reaping));
  } else if (const auto* about_sessions = std::get_if<SessionsRequest>(&message->body)) {
    sessions(ticket, *about_sessions);
  } else if (std::holds_alternative<CancelMessage>(message->body)) {
    cancel(ticket);
  } else if (const auto* signal = std::get_if<SignalMessage>(&message->body)) {
    if (const auto found = executions_.find(ticket); found != executions_.end()) found->second->signal(signal->number);
  }
  return true;
}

// ---- requests --------------------------------------------------------------------

std::optional<Operations::Id> Connection::begin(std::uint64_t ticket, std::int64_t deadline_ns,
                                                const std::string& what) {
  auto begun = operations_.begin(deadline_ns, what, [this, ticket](const Operations::Ending& ending) {
    reply(ticket, reply_from(ending.result));
  });
  if (!begun) {
    reply_failed(ticket, begun.error());
    return std::nullopt;
  }
  requests_[ticket] = *begun;
  return *begun;
}

void Connection::probe(std::uint64_t ticket, ProbeRequest request) {
  const auto id = begin(ticket, request.deadline_ns, fmt::format("backend \"{}\", being probed,", request.plugin.id));
  if (!id) return;
  auto task = [core = core_, request = std::move(request)](const plugin::CallLimits& limits) {
    return call_backend(*core, request.plugin, Phase::provision, limits,
                        [](const eh_backend& table, const eh_call* call) { return table.probe(table.self, call); });
  };
  operations_.run(*id, std::move(task), [this, ticket](const Operations::Ending& ending) {
    if (ending.result.status != ReplyStatus::ok) return reply(ticket, reply_from(ending.result));
    auto body = parse_bounded(ending.result.answer, kMaxAnswerBytes);
    if (!body) return reply(ticket, reply_from(CallResult::failed(body.error())));
    reply(ticket, reply_from(ending.result, std::move(*body)));
  });
}

void Connection::cancel(std::uint64_t ticket) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return;
  if (found->second != 0) return operations_.cancel(found->second);
  if (sessions_ != nullptr) sessions_->cancel(this, ticket);
}

void Connection::open(std::uint64_t ticket, OpenRequest request) {
  if (request.session) {
    if (sessions_ == nullptr) {
      return reply_failed(ticket, make_failure(FailureKind::unsupported, Phase::provision,
                                               "this keeper is of one program and has no named sessions", "session"));
    }
    requests_[ticket] = 0;
    return sessions_->open(this, ticket, std::move(request), [weak = std::weak_ptr(self_), ticket](Reply answer) {
      if (const auto self = weak.lock()) (*self)->reply(ticket, std::move(answer));
    });
  }
  const auto id =
      begin(ticket, request.deadline_ns, fmt::format("backend \"{}\", opening an environment,", request.plugin.id));
  if (!id) return;
  environments_.open(*id, std::move(request),
                     [this, ticket](const Operations::Ending& ending, const std::shared_ptr<Environment>& environment) {
                       opened(ticket, environment, ending);
                     });
}

void Connection::opened(std::uint64_t ticket, const std::shared_ptr<Environment>& environment,
                        const Operations::Ending& ending) {
  if (!environment) return reply(ticket, reply_from(ending.result));
  if (!ending.stopped && !ending_) {
    nlohmann::json body{
        {"environment", environment->number}, {"id", environment->id}, {"init", environment->init}, {"reused", false}};
    return reply(ticket, reply_from(ending.result, std::move(body)));
  }
  // It came although it was stopped: nobody will use it. The host hears of the stop when it is gone.
  environments_.end(environment, false, deadline_after(kCloseTime),
                    [this, ticket, status = ending.stop_status](const CallResult& result) {
                      if (result.status != ReplyStatus::ok) return reply(ticket, reply_from(result));
                      Reply stopped;
                      stopped.status = status;
                      reply(ticket, std::move(stopped));
                    });
}

// From outside, because something in it does not end.
void Connection::destroy(const std::shared_ptr<Environment>& environment, Environments::Closed closed) {
  const std::int64_t deadline = deadline_after(kCloseTime);
  if (environments_.find(environment->number)) {
    environments_.end(environment, false, deadline, std::move(closed));
  } else {
    sessions_->destroy(environment, false, deadline, std::move(closed));
  }
}

void Connection::spawn(std::uint64_t ticket, SpawnRequest request, Packet packet) {
  const bool background = request.background.has_value();
  const auto refuse = [this, ticket](Failure failure) {
    ExecutionEvent event;
    event.kind = ExecutionEvent::Kind::failed;
    event.failure = std::move(failure);
    event.was_started = Started::no;
    send({ticket, std::move(event)});
  };
  if (!background && packet.descriptors.size() != request.stdio.size()) {
    return refuse(make_failure(FailureKind::spawn_failed, Phase::spawn,
                               "the keeper has no descriptor left for the command's streams", "descriptors", EMFILE,
                               "raise the limit of open files (ulimit -n)"));
  }
  auto environment = environments_.find(request.environment);
  if (!environment && sessions_ != nullptr) environment = sessions_->used_by(this, request.environment);
  if (!environment || environment->closing) {
    return refuse(make_failure(FailureKind::environment_lost, Phase::spawn,
                               fmt::format("there is no open environment {}", request.environment), "environment"));
  }
  if (request.argv.empty()) {
    return refuse(
        make_failure(FailureKind::invalid_request, Phase::spawn, "the command is empty: argv has no element", "argv"));
  }
  if (background) {
    if (sessions_ == nullptr || environments_.find(environment->number)) {
      return refuse(make_failure(FailureKind::unsupported, Phase::spawn,
                                 "only a named session can keep a command in the background", "session"));
    }
    return sessions_->start_background(environment, std::move(request),
                                       [weak = std::weak_ptr(self_), ticket](ExecutionEvent event) {
                                         if (const auto self = weak.lock()) (*self)->send({ticket, std::move(event)});
                                       });
  }
  Execution::Surroundings surroundings{
      loop_, pool_, operations_,
      // A session's can be destroyed after its host's connection is over.
      [weak = std::weak_ptr(self_), ticket](ExecutionEvent event) {
        if (const auto self = weak.lock()) (*self)->send({ticket, std::move(event)});
      },
      [this, ticket] {
        executions_.erase(ticket);
        finish_when_done();
      },
      [this, environment](Environments::Closed closed) { destroy(environment, std::move(closed)); }};
  const auto execution = std::make_shared<Execution>(std::move(surroundings), environment, std::move(request));
  executions_[ticket] = execution;
  execution->start(std::move(packet.descriptors));
}

void Connection::close(std::uint64_t ticket, const CloseRequest& request) {
  const auto answer = [weak = std::weak_ptr(self_), ticket](const CallResult& result) {
    if (const auto self = weak.lock()) (*self)->reply(ticket, reply_from(result));
  };
  if (const auto mine = environments_.find(request.environment); mine && !mine->closing) {
    requests_[ticket] = 0;
    const Operations::Id id = environments_.end(mine, request.purge, request.deadline_ns, answer);
    if (const auto found = requests_.find(ticket); found != requests_.end()) found->second = id;
    return;
  }
  if (const auto shared = sessions_ != nullptr ? sessions_->used_by(this, request.environment) : nullptr) {
    requests_[ticket] = 0;
    sessions_->release(this, shared);
    if (!request.keep) return sessions_->destroy(shared, request.purge, request.deadline_ns, answer);
    CallResult kept;
    kept.status = ReplyStatus::ok;
    return answer(kept);
  }
  reply_failed(ticket,
               make_failure(FailureKind::environment_lost, Phase::cleanup,
                            fmt::format("there is no open environment {}", request.environment), "environment"));
}

void Connection::sessions(std::uint64_t ticket, const SessionsRequest& request) {
  requests_[ticket] = 0;
  Reply answer;
  answer.status = ReplyStatus::ok;
  if (request.what == SessionsRequest::What::list) {
    answer.body = sessions_ == nullptr ? nlohmann::json::array() : sessions_->list(request.owner);
    return reply(ticket, std::move(answer));
  }
  if (sessions_ == nullptr) {
    return reply_failed(ticket, make_failure(FailureKind::invalid_request, Phase::cleanup,
                                             "this keeper is of one program and has no named sessions", "session"));
  }
  const auto answered = [weak = std::weak_ptr(self_), ticket](Reply said) {
    if (const auto self = weak.lock()) (*self)->reply(ticket, std::move(said));
  };
  if (request.what != SessionsRequest::What::stop) return sessions_->about_background(request, answered);
  sessions_->stop(request.owner, request.name, request.purge, request.deadline_ns,
                  [answered](const CallResult& result) { answered(reply_from(result)); });
}

void Connection::list(std::uint64_t ticket, ListRequest request) {
  const auto id = begin(ticket, request.deadline_ns, fmt::format("backend \"{}\", listing,", request.plugin.id));
  if (!id) return;
  auto task = [core = core_, request = std::move(request)](const plugin::CallLimits& limits) {
    return call_backend(*core, request.plugin, Phase::cleanup, limits,
                        [](const eh_backend& table, const eh_call* call) { return table.list(table.self, call); });
  };
  operations_.run(*id, std::move(task), [this, ticket](const Operations::Ending& ending) {
    if (ending.result.status != ReplyStatus::ok) return reply(ticket, reply_from(ending.result));
    auto listed = parse_listed(ending.result.answer);
    if (!listed) return reply(ticket, reply_from(CallResult::failed(listed.error())));
    reply(ticket, reply_from(ending.result, std::move(*listed)));
  });
}

void Connection::reap(std::uint64_t ticket, ReapRequest request) {
  const auto id =
      begin(ticket, request.deadline_ns, fmt::format("backend \"{}\", removing what was left,", request.plugin.id));
  if (!id) return;
  auto task = [core = core_, request = std::move(request)](const plugin::CallLimits& limits) {
    const std::string entry = request.entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return call_backend(*core, request.plugin, Phase::cleanup, limits,
                        [&entry](const eh_backend& table, const eh_call* call) {
                          return table.reap(table.self, plugin::to_eh(entry), call);
                        });
  };
  operations_.run(*id, std::move(task),
                  [this, ticket](const Operations::Ending& ending) { reply(ticket, reply_from(ending.result)); });
}

// ---- the end ---------------------------------------------------------------------

void Connection::host_is_gone() {
  if (ending_) return;
  ending_ = true;
  loop_->unwatch(socket_.get());
  if (host_pidfd_ >= 0) loop_->unwatch(host_pidfd_);
  outgoing_.clear();
  socket_.reset();
  operations_.cancel_all();
  const auto running = executions_;
  for (const auto& [ticket, execution] : running) execution->kill_hard();
  environments_.end_all(deadline_after(kCloseTime));
  if (sessions_ != nullptr) sessions_->host_is_gone(this);
  end_timer_ = loop_->at(deadline_after(kEndTime), [this] {
    end_timer_ = 0;
    tell_over(false);
  });
  finish_when_done();
}

void Connection::finish_when_done() {
  if (ending_ && executions_.empty() && environments_.settled() && operations_.empty()) tell_over(true);
}

// Not from here: it may be destroyed then.
void Connection::tell_over(bool settled) {
  if (settled && std::exchange(settled_, true)) return;
  loop_->post([over = over_, settled] { over(settled); });
}

}  // namespace exechost::keeper

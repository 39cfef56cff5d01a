#include "core/keeper/session.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>

#include "core/base/clock.hpp"
#include "core/keeper/command_server.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/listed.hpp"

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

Session::Session(std::shared_ptr<Core> core, WorkerPool& pool, UniqueFd socket, KeeperOptions options)
    : core_(std::move(core)),
      loop_(core_, &core_->loop),
      pool_(pool),
      socket_(std::move(socket)),
      options_(std::move(options)),
      operations_(loop_, pool_) {}

Session::~Session() {
  // A backend may be destroyed only when its environments are closed. Those that could not be:
  // theirs stays, with what it still does.
  for (const auto& [number, environment] : environments_) {
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): as any allocation
    new std::shared_ptr<Backend>(environment->backend);
  }
}

void Session::start() {
  operations_.when_empty([this] { stop_when_done(); });
  loop_->watch(socket_.get(), POLLIN, [this](short events) {
    if ((events & POLLOUT) != 0) writable();
    if ((events & ~POLLOUT) != 0) readable();
  });
  if (options_.host_pidfd >= 0) {
    loop_->watch(options_.host_pidfd, POLLIN, [this](short) { host_is_gone(); });
  }
}

// ---- the socket ------------------------------------------------------------------

void Session::readable() {
  while (!ending_) {
    Packet packet;
    const auto received = receive_packet(socket_.get(), packet);
    if (!received || *received == ReceiveResult::closed) return host_is_gone();
    if (*received == ReceiveResult::would_block) return;
    // A host that breaks the protocol is treated as one that died.
    if (!dispatch(std::move(packet))) return host_is_gone();
  }
}

void Session::writable() {
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

void Session::send(const KeeperMessage& message) {
  if (ending_) return;
  Packet packet;
  packet.body = encode(message);
  auto encoded = encode_packet(std::move(packet));
  if (!encoded) return;  // no memory: the host's deadline has to notice
  outgoing_.push_back(std::move(*encoded));
  if (outgoing_.size() == 1) writable();
}

void Session::reply(std::uint64_t ticket, Reply reply) {
  if (requests_.erase(ticket) == 0) return;  // answered before
  send({ticket, std::move(reply)});
}

void Session::reply_failed(std::uint64_t ticket, Failure failure) {
  requests_.try_emplace(ticket, 0);
  reply(ticket, reply_from(CallResult::failed(std::move(failure))));
}

bool Session::dispatch(Packet packet) {
  auto message = decode_host_message(packet.body);
  if (!message) return false;
  const std::uint64_t ticket = message->ticket;
  if (auto* request = std::get_if<ProbeRequest>(&message->body)) {
    probe(ticket, std::move(*request));
  } else if (auto* opening = std::get_if<OpenRequest>(&message->body)) {
    open(ticket, std::move(*opening));
  } else if (auto* spawning = std::get_if<SpawnRequest>(&message->body)) {
    const std::size_t expected = spawning->stdio.size();
    if (packet.descriptors.size() != expected && !packet.descriptors_lost) return false;
    if (executions_.contains(ticket)) return false;
    spawn(ticket, std::move(*spawning), std::move(packet));
  } else if (const auto* closing = std::get_if<CloseRequest>(&message->body)) {
    close(ticket, *closing);
  } else if (auto* listing = std::get_if<ListRequest>(&message->body)) {
    list(ticket, std::move(*listing));
  } else if (auto* reaping = std::get_if<ReapRequest>(&message->body)) {
    reap(ticket, std::move(*reaping));
  } else if (std::holds_alternative<CancelMessage>(message->body)) {
    if (const auto found = requests_.find(ticket); found != requests_.end()) operations_.cancel(found->second);
  } else if (const auto* signal = std::get_if<SignalMessage>(&message->body)) {
    if (const auto found = executions_.find(ticket); found != executions_.end()) found->second->signal(signal->number);
  }
  return true;
}

// ---- requests --------------------------------------------------------------------

std::optional<Operations::Id> Session::begin(std::uint64_t ticket, std::int64_t deadline_ns, const std::string& what) {
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

void Session::probe(std::uint64_t ticket, ProbeRequest request) {
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

void Session::open(std::uint64_t ticket, OpenRequest request) {
  const auto id =
      begin(ticket, request.deadline_ns, fmt::format("backend \"{}\", opening an environment,", request.plugin.id));
  if (!id) return;
  auto result = std::make_shared<Opened>();
  auto task = [core = core_, result, request = std::move(request), folder = options_.ledger_folder,
               guest = options_.guest_path](const plugin::CallLimits& limits) {
    std::shared_ptr<Backend> backend;
    CallResult made = core->backends.get(request.plugin, limits, backend);
    if (made.status != ReplyStatus::ok) return made;
    cleanup::Ledger* ledger = nullptr;
    {
      const std::lock_guard lock(core->ledger_mutex);
      if (!core->ledger) {
        auto opened = cleanup::Ledger::open(folder);
        if (!opened) return CallResult::failed(opened.error());
        core->ledger = std::move(*opened);
      }
      ledger = &*core->ledger;
    }
    *result = open_environment(request, backend, *ledger, guest, limits);
    return result->result;
  };
  operations_.run(*id, std::move(task), [this, ticket, result](const Operations::Ending& ending) {
    if (result->environment && result->guest) {
      result->environment->server =
          make_command_server(loop_, std::move(*result->guest), result->environment->backend->id());
      result->environment->server->start();
    }
    opened(ticket, result->environment, ending);
  });
}

void Session::opened(std::uint64_t ticket, const std::shared_ptr<Environment>& environment,
                     const Operations::Ending& ending) {
  if (!environment) return reply(ticket, reply_from(ending.result));
  environment->number = next_environment_++;
  environments_[environment->number] = environment;
  if (!ending.stopped && !ending_) {
    nlohmann::json body{{"environment", environment->number}, {"id", environment->id}, {"init", environment->init}};
    return reply(ticket, reply_from(ending.result, std::move(body)));
  }
  // It came although it was stopped: nobody will use it. The host hears of the stop when it is gone.
  const ReplyStatus status = ending.stop_status;
  end_environment(environment, false, deadline_after(kCloseTime), 0, [this, ticket, status](const CallResult& result) {
    if (result.status != ReplyStatus::ok) return reply(ticket, reply_from(result));
    Reply stopped;
    stopped.status = status;
    reply(ticket, std::move(stopped));
  });
}

void Session::spawn(std::uint64_t ticket, SpawnRequest request, Packet packet) {
  const auto refuse = [this, ticket](Failure failure) {
    ExecutionEvent event;
    event.kind = ExecutionEvent::Kind::failed;
    event.failure = std::move(failure);
    event.was_started = Started::no;
    send({ticket, std::move(event)});
  };
  if (packet.descriptors.size() != request.stdio.size()) {
    return refuse(make_failure(FailureKind::spawn_failed, Phase::spawn,
                               "the keeper has no descriptor left for the command's streams", "descriptors", EMFILE,
                               "raise the limit of open files (ulimit -n)"));
  }
  const auto found = environments_.find(request.environment);
  if (found == environments_.end() || found->second->closing) {
    return refuse(make_failure(FailureKind::environment_lost, Phase::spawn,
                               fmt::format("there is no open environment {}", request.environment), "environment"));
  }
  if (request.argv.empty()) {
    return refuse(
        make_failure(FailureKind::invalid_request, Phase::spawn, "the command is empty: argv has no element", "argv"));
  }
  const auto environment = found->second;
  Execution::Surroundings surroundings{loop_,
                                       pool_,
                                       operations_,
                                       [this, ticket](ExecutionEvent event) {
                                         send({ticket, std::move(event)});
                                       },
                                       [this, ticket] {
                                         executions_.erase(ticket);
                                         stop_when_done();
                                       },
                                       [this, environment](Closed closed) {
                                         end_environment(environment, false, deadline_after(kCloseTime), 0,
                                                         std::move(closed));
                                       }};
  const auto execution = std::make_shared<Execution>(std::move(surroundings), environment, std::move(request));
  executions_[ticket] = execution;
  execution->start(std::move(packet.descriptors));
}

void Session::close(std::uint64_t ticket, const CloseRequest& request) {
  const auto found = environments_.find(request.environment);
  if (found == environments_.end() || found->second->closing) {
    return reply_failed(
        ticket, make_failure(FailureKind::environment_lost, Phase::cleanup,
                             fmt::format("there is no open environment {}", request.environment), "environment"));
  }
  end_environment(found->second, request.purge, request.deadline_ns, ticket,
                  [this, ticket](const CallResult& result) { reply(ticket, reply_from(result)); });
}

void Session::list(std::uint64_t ticket, ListRequest request) {
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

void Session::reap(std::uint64_t ticket, ReapRequest request) {
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

void Session::end_environment(const std::shared_ptr<Environment>& environment, bool purge, std::int64_t deadline_ns,
                              std::uint64_t ticket, Closed closed) {
  if (environment->closing && ticket == 0) {
    environment->when_closed.push_back(std::move(closed));
    return;
  }
  if (environment->closing) {
    return closed(CallResult::failed(make_failure(FailureKind::environment_lost, Phase::cleanup,
                                                  "the environment is being closed already", "close")));
  }
  const auto told = std::make_shared<bool>(false);
  const auto tell = [told, environment, closed = std::move(closed)](const CallResult& result) {
    if (!std::exchange(*told, true)) closed(result);
    for (const auto& other : std::exchange(environment->when_closed, {})) other(result);
  };
  auto begun =
      operations_.begin(deadline_ns, fmt::format("backend \"{}\", closing an environment,", environment->backend->id()),
                        [tell](const Operations::Ending& ending) { tell(ending.result); });
  if (!begun) return tell(CallResult::failed(begun.error()));
  if (ticket != 0) requests_[ticket] = *begun;
  environment->closing = true;
  const auto run = [this, environment, purge, id = *begun, tell] {
    auto guest = environment->server ? std::make_shared<ServingGuest>(environment->server->stop()) : nullptr;
    auto task = [environment, guest, purge](const plugin::CallLimits& limits) {
      return close_environment(*environment, guest.get(), purge, limits);
    };
    operations_.run(id, std::move(task), [this, environment, tell](const Operations::Ending& ending) {
      // After a failed close it may be tried again; the ledger's entry stays until one succeeds.
      environment->closing = false;
      if (ending.result.status == ReplyStatus::ok) environments_.erase(environment->number);
      tell(ending.result);
      stop_when_done();
    });
  };
  if (environment->executions == 0) return run();
  environment->when_idle = run;
  const auto running = executions_;
  for (const auto& [number, execution] : running) {
    if (execution->environment() == environment.get()) execution->kill();
  }
}

// ---- the end ---------------------------------------------------------------------

void Session::host_is_gone() {
  if (ending_) return;
  ending_ = true;
  loop_->unwatch(socket_.get());
  if (options_.host_pidfd >= 0) loop_->unwatch(options_.host_pidfd);
  outgoing_.clear();
  socket_.reset();
  operations_.cancel_all();
  const auto running = executions_;
  for (const auto& [ticket, execution] : running) execution->kill_hard();
  const auto open = environments_;
  for (const auto& [number, environment] : open) {
    if (!environment->closing)
      end_environment(environment, false, deadline_after(kCloseTime), 0, [](const CallResult&) {});
  }
  loop_->at(deadline_after(kEndTime), [loop = loop_.get()] { loop->stop(); });
  stop_when_done();
}

void Session::stop_when_done() {
  const auto is_done = [](const auto& item) { return !item.second->closing; };  // closed, or failed to
  const bool closed = std::all_of(environments_.begin(), environments_.end(), is_done);
  if (ending_ && executions_.empty() && closed && operations_.empty()) loop_->stop();
}

}  // namespace exechost::keeper

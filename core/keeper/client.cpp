#include "core/keeper/client.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>

#include "core/keeper/codec.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/wire.hpp"

namespace exechost::keeper {
namespace {

constexpr auto kRetryAfter = std::chrono::milliseconds(1);

}  // namespace

struct Client::Impl : std::enable_shared_from_this<Client::Impl> {
  struct Running {
    EventHandler handler;
    Started started = Started::unknown;  // from the moment the message was sent
  };

  Impl(Reactor& owner, UniqueFd fd) : reactor(owner), socket(owner.context()), retry(owner.context()) {
    socket.assign(fd.release());
  }

  // ---- receiving ----

  void wait_readable() {
    socket.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (!error) self->readable();
                      });
  }

  void readable() {
    while (socket.is_open()) {
      Packet packet;
      const auto received = receive_packet(socket.native_handle(), packet);
      if (!received) return die(received.error().message);
      if (*received == ReceiveResult::closed) return die("it ended");
      if (*received == ReceiveResult::would_block) return wait_readable();
      auto message = decode_keeper_message(packet.body);
      if (!message) return die(message.error().message);
      handle(std::move(*message));
    }
  }

  void handle(KeeperMessage message) {
    if (auto* reply = std::get_if<Reply>(&message.body)) {
      const auto node = requests.extract(message.ticket);
      if (!node.empty()) node.mapped()(std::move(*reply));
      return;
    }
    auto& event = std::get<ExecutionEvent>(message.body);
    const auto found = executions.find(message.ticket);
    if (found == executions.end()) return;
    if (event.kind == ExecutionEvent::Kind::started) found->second.started = Started::yes;
    const bool last = event.kind == ExecutionEvent::Kind::gone || event.kind == ExecutionEvent::Kind::failed;
    const EventHandler handler = found->second.handler;  // it may start or forget others
    if (last) executions.erase(found);
    handler(std::move(event));
  }

  // ---- sending ----

  // `spawn`: whose packet it is, when it is one; 0: it is none.
  Result<void> send(const HostMessage& message, std::vector<UniqueFd> descriptors = {}, Ticket spawn = 0) {
    if (!socket.is_open()) return unexpected(crashed("it had ended before"));
    Packet packet;
    packet.body = encode(message);
    packet.descriptors = std::move(descriptors);
    auto encoded = encode_packet(std::move(packet));
    if (!encoded) return unexpected(encoded.error());
    outgoing.push_back({std::move(*encoded), spawn});
    if (outgoing.size() == 1) flush();
    return {};
  }

  void flush() {
    int error = 0;
    while (socket.is_open() && !outgoing.empty()) {
      switch (send_packet(socket.native_handle(), outgoing.front().packet, error)) {
        case SendResult::sent: outgoing.pop_front(); break;
        case SendResult::closed:
          // What it had said before may still be readable, and is what counts.
          outgoing.clear();
          return;
        case SendResult::would_block: return wait_writable();
      }
    }
  }

  // A moment before readiness is asked for: with too many descriptors in flight the socket is
  // ready all the time and refuses nevertheless.
  void wait_writable() {
    retry.expires_after(kRetryAfter);
    retry.async_wait([self = shared_from_this()](const boost::system::error_code& timer_error) {
      if (timer_error || !self->socket.is_open()) return;
      self->socket.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                              [self](const boost::system::error_code& error) {
                                if (!error) self->flush();
                              });
    });
  }

  // ---- the end ----

  static Failure crashed(const std::string& how) {
    return make_failure(FailureKind::plugin_crashed, Phase::run, fmt::format("the keeper is gone: {}", how), "keeper",
                        0, "the next run starts a new one");
  }

  void close() {
    boost::system::error_code ignored;
    socket.close(ignored);
    retry.cancel();
    outgoing.clear();
  }

  // Every handler hears of it, from the reactor and not from inside a caller's call.
  void die(const std::string& how) {
    close();
    const auto lost_requests = std::exchange(requests, {});
    const auto lost_executions = std::exchange(executions, {});
    for (const auto& [ticket, handler] : lost_requests) {
      Reply reply;
      reply.failure = crashed(how);
      reply.failure.phase = Phase::provision;
      handler(std::move(reply));
    }
    for (const auto& [ticket, running] : lost_executions) {
      ExecutionEvent event;
      event.failure = crashed(how);
      event.was_started = running.started;
      running.handler(std::move(event));
    }
  }

  template <class Request>
  Ticket request(const Request& body, ReplyHandler handler) {
    const Ticket ticket = next++;
    requests.emplace(ticket, std::move(handler));
    if (auto sent = send({ticket, body}); !sent) {
      reactor.post([self = shared_from_this(), ticket, failure = sent.error()] {
        const auto node = self->requests.extract(ticket);
        if (node.empty()) return;
        Reply reply;
        reply.failure = failure;
        node.mapped()(std::move(reply));
      });
    }
    return ticket;
  }

  Ticket spawn(const SpawnRequest& body, EventHandler handler) {
    const Ticket ticket = next++;
    executions.emplace(ticket, Running{std::move(handler)});
    auto descriptors = body.background ? Result<std::vector<UniqueFd>>(std::vector<UniqueFd>()) : duplicate(body.stdio);
    auto sent = descriptors ? send({ticket, body}, std::move(*descriptors), ticket)
                            : Result<void>(unexpected(descriptors.error()));
    if (!sent) not_spawned(ticket, sent.error());
    return ticket;
  }

  void not_spawned(Ticket ticket, Failure failure) {
    reactor.post([self = shared_from_this(), ticket, failure = std::move(failure)] {
      const auto node = self->executions.extract(ticket);
      if (node.empty()) return;
      ExecutionEvent event;
      event.failure = failure;
      event.was_started = Started::no;
      node.mapped().handler(std::move(event));
    });
  }

  // One that the keeper has not been told of: it never will be. False: it has.
  bool take_back(Ticket execution) {
    const auto found = std::find_if(outgoing.begin(), outgoing.end(),
                                    [execution](const Outgoing& waiting) { return waiting.spawn == execution; });
    if (execution == 0 || found == outgoing.end()) return false;
    outgoing.erase(found);
    not_spawned(execution, make_failure(FailureKind::spawn_failed, Phase::spawn,
                                        "the keeper could not be told of the command before it was stopped", "queue", 0,
                                        "the keeper is overloaded, or this user has too many descriptors on their way "
                                        "through sockets (unix(7), ETOOMANYREFS)"));
    return true;
  }

  static Result<std::vector<UniqueFd>> duplicate(const std::array<int, 3>& stdio) {
    std::vector<UniqueFd> duplicates;
    for (const int fd : stdio) {
      duplicates.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
      if (!duplicates.back()) {
        const int error = errno;
        return unexpected(
            make_failure(FailureKind::spawn_failed, Phase::spawn,
                         fmt::format("descriptor {} for the command can't be duplicated: {}", fd, std::strerror(error)),
                         "descriptors", error));
      }
    }
    return duplicates;
  }

  Reactor& reactor;
  boost::asio::posix::stream_descriptor socket;
  boost::asio::steady_timer retry;
  struct Outgoing {
    EncodedPacket packet;
    Ticket spawn = 0;
  };
  std::deque<Outgoing> outgoing;
  std::map<Ticket, ReplyHandler> requests;
  std::map<Ticket, Running> executions;
  Ticket next = 1;
};

Client::Client(Reactor& reactor, UniqueFd socket) : impl_(std::make_shared<Impl>(reactor, std::move(socket))) {
  impl_->wait_readable();
}

Client::~Client() {
  impl_->requests.clear();
  impl_->executions.clear();
  impl_->close();
}

Ticket Client::probe(const ProbeRequest& request, ReplyHandler handler) {
  return impl_->request(request, std::move(handler));
}
Ticket Client::open(const OpenRequest& request, ReplyHandler handler) {
  return impl_->request(request, std::move(handler));
}
Ticket Client::close(const CloseRequest& request, ReplyHandler handler) {
  return impl_->request(request, std::move(handler));
}
Ticket Client::list(const ListRequest& request, ReplyHandler handler) {
  return impl_->request(request, std::move(handler));
}
Ticket Client::reap(const ReapRequest& request, ReplyHandler handler) {
  return impl_->request(request, std::move(handler));
}
Ticket Client::sessions(const SessionsRequest& request, ReplyHandler handler) {
  return impl_->request(request, std::move(handler));
}
Ticket Client::spawn(const SpawnRequest& request, EventHandler handler) {
  return impl_->spawn(request, std::move(handler));
}

void Client::cancel(Ticket request) {
  if (!impl_->requests.contains(request)) return;
  // A keeper that can't be told is dying, and its death answers the request.
  [[maybe_unused]] const auto sent = impl_->send({request, CancelMessage{}});
}

void Client::signal(Ticket execution, int number) {
  if (!impl_->executions.contains(execution)) return;
  if (number == SIGKILL && impl_->take_back(execution)) return;
  [[maybe_unused]] const auto sent = impl_->send({execution, SignalMessage{number}});
}

}  // namespace exechost::keeper

// Serves one host over one socket: takes requests, gives replies and events, and when the socket
// closes ends everything that is that host's alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "core/base/unique_fd.hpp"
#include "core/keeper/codec.hpp"
#include "core/keeper/core.hpp"
#include "core/keeper/environments.hpp"
#include "core/keeper/execution.hpp"
#include "core/keeper/operations.hpp"
#include "core/keeper/worker_pool.hpp"

namespace exechost::keeper {

class NamedSessions;

class Connection {
 public:
  // `sessions`: those that its host may join, or null: there are none; outlives it. `over` is called when
  // the host is gone and everything that was its alone has ended (settled), or before, when that has had its time.
  Connection(std::shared_ptr<Core> core, WorkerPool& pool, UniqueFd socket, int host_pidfd, NamedSessions* sessions,
             std::function<void(bool settled)> over);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Begins to serve on the core's loop.
  void start();
  // As if the host had gone.
  void end() { host_is_gone(); }

 private:
  void readable();
  void writable();
  void send(const KeeperMessage& message);
  void reply(std::uint64_t ticket, Reply reply);
  void reply_failed(std::uint64_t ticket, Failure failure);
  bool dispatch(Packet packet);

  void probe(std::uint64_t ticket, ProbeRequest request);
  void open(std::uint64_t ticket, OpenRequest request);
  void spawn(std::uint64_t ticket, SpawnRequest request, Packet packet);
  void close(std::uint64_t ticket, const CloseRequest& request);
  void list(std::uint64_t ticket, ListRequest request);
  void reap(std::uint64_t ticket, ReapRequest request);
  void sessions(std::uint64_t ticket, const SessionsRequest& request);
  void cancel(std::uint64_t ticket);
  std::optional<Operations::Id> begin(std::uint64_t ticket, std::int64_t deadline_ns, const std::string& what);
  void opened(std::uint64_t ticket, const std::shared_ptr<Environment>& environment, const Operations::Ending& ending);
  void destroy(const std::shared_ptr<Environment>& environment, Environments::Closed closed);

  void host_is_gone();
  void finish_when_done();
  void tell_over(bool settled);

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<EventLoop> loop_;  // the core's
  WorkerPool& pool_;
  UniqueFd socket_;
  const int host_pidfd_;
  NamedSessions* const sessions_;
  const std::function<void(bool)> over_;
  const std::shared_ptr<Connection*> self_ = std::make_shared<Connection*>(this);  // for what may outlive it
  Operations operations_;
  Environments environments_;  // the host's own
  std::deque<EncodedPacket> outgoing_;
  std::map<std::uint64_t, Operations::Id> requests_;                // by ticket; 0: one that can't be cancelled here
  std::map<std::uint64_t, std::shared_ptr<Execution>> executions_;  // by ticket
  EventLoop::Timer end_timer_ = 0;
  bool ending_ = false;
  bool settled_ = false;
};

}  // namespace exechost::keeper

// Serves one host over one socket: takes requests, gives replies and events, and when the socket
// closes ends everything.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/unique_fd.hpp"
#include "core/keeper/backends.hpp"
#include "core/keeper/codec.hpp"
#include "core/keeper/environment.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/execution.hpp"
#include "core/keeper/keeper.hpp"
#include "core/keeper/operations.hpp"
#include "core/keeper/worker_pool.hpp"

namespace exechost::keeper {

// What tasks on workers may still touch when the session is over; they share its ownership.
struct Core {
  explicit Core(const KeeperOptions& options)
      : launcher(make_process_launcher(options.child_open_files)), services(loop, *launcher), backends(services) {}
  EventLoop loop;
  std::unique_ptr<ProcessLauncher> launcher;
  HostServices services;
  Backends backends;
  std::mutex ledger_mutex;
  std::optional<cleanup::Ledger> ledger;  // guarded by ledger_mutex; opened at first need
};

class Session {
 public:
  Session(std::shared_ptr<Core> core, WorkerPool& pool, UniqueFd socket, KeeperOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  ~Session();

  // Begins to serve on the core's loop, which it stops when everything has ended.
  void start();

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
  std::optional<Operations::Id> begin(std::uint64_t ticket, std::int64_t deadline_ns, const std::string& what);
  void opened(std::uint64_t ticket, const std::shared_ptr<Environment>& environment, const Operations::Ending& ending);

  using Closed = std::function<void(CallResult)>;
  // Kills what runs in it, closes it, forgets it when that succeeded. `closed` is called once, at
  // the latest 2 s after the deadline.
  void end_environment(const std::shared_ptr<Environment>& environment, bool purge, std::int64_t deadline_ns,
                       std::uint64_t ticket, Closed closed);

  void host_is_gone();
  void stop_when_done();

  std::shared_ptr<Core> core_;
  std::shared_ptr<EventLoop> loop_;  // the core's
  WorkerPool& pool_;
  UniqueFd socket_;
  KeeperOptions options_;
  Operations operations_;
  std::deque<EncodedPacket> outgoing_;
  std::map<std::uint64_t, Operations::Id> requests_;  // by ticket
  std::map<std::uint64_t, std::shared_ptr<Environment>> environments_;
  std::map<std::uint64_t, std::shared_ptr<Execution>> executions_;  // by ticket
  std::uint64_t next_environment_ = 1;
  bool ending_ = false;
};

}  // namespace exechost::keeper

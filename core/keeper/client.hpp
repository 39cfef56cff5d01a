// The host's side of a keeper, wherever the keeper runs. Everything here is called on the
// reactor thread, and handlers are called there; each handler exactly once (events: until
// gone or failed). When the keeper dies, every open request and execution ends with
// plugin_crashed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/reactor.hpp"
#include "core/base/unique_fd.hpp"
#include "core/keeper/messages.hpp"

namespace exechost::keeper {

using ReplyHandler = std::function<void(Reply)>;
using EventHandler = std::function<void(ExecutionEvent)>;
using Ticket = std::uint64_t;  // names a request (for cancel) or an execution (for signal)

class Client {
 public:
  Client(Reactor& reactor, UniqueFd socket);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Ticket probe(const ProbeRequest& request, ReplyHandler handler);
  Ticket open(const OpenRequest& request, ReplyHandler handler);
  Ticket spawn(const SpawnRequest& request, EventHandler handler);
  Ticket close(const CloseRequest& request, ReplyHandler handler);
  Ticket list(const ListRequest& request, ReplyHandler handler);
  Ticket reap(const ReapRequest& request, ReplyHandler handler);
  Ticket sessions(const SessionsRequest& request, ReplyHandler handler);
  // Cancels a probe, open, close, list or reap that is under way: its handler gets `cancelled`.
  void cancel(Ticket request);
  // To the command's process group; 9 kills the whole tree (the execution then ends as usual:
  // exited, gone). Ignored when the execution has ended.
  void signal(Ticket execution, int number);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace exechost::keeper

// What environments and executions ask of a keeper, as an interface: keeper::Client behind it in
// the program, a scripted keeper in tests. Everything is called on the reactor thread.
#pragma once

#include <functional>
#include <memory>

#include "core/base/reactor.hpp"
#include "core/base/unique_fd.hpp"
#include "core/keeper/messages.hpp"

namespace exechost::environment {

using Ticket = std::uint64_t;

// Contract as keeper::Client: every reply handler is called exactly once, event handlers until
// `gone` or `failed`, none of them before the call returns; a keeper's death ends all of them with plugin_crashed.
class KeeperPort {
 public:
  using ReplyHandler = std::function<void(keeper::Reply)>;
  using EventHandler = std::function<void(keeper::ExecutionEvent)>;
  virtual ~KeeperPort() = default;
  virtual Ticket probe(const keeper::ProbeRequest& request, ReplyHandler handler) = 0;
  virtual Ticket open(const keeper::OpenRequest& request, ReplyHandler handler) = 0;
  virtual Ticket spawn(const keeper::SpawnRequest& request, EventHandler handler) = 0;
  virtual Ticket close(const keeper::CloseRequest& request, ReplyHandler handler) = 0;
  virtual Ticket list(const keeper::ListRequest& request, ReplyHandler handler) = 0;
  virtual Ticket reap(const keeper::ReapRequest& request, ReplyHandler handler) = 0;
  virtual Ticket sessions(const keeper::SessionsRequest& request, ReplyHandler handler) = 0;
  virtual void cancel(Ticket request) = 0;
  virtual void signal(Ticket execution, int number) = 0;
};

}  // namespace exechost::environment

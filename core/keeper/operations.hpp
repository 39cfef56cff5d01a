// Requests that wait for a plugin: each has a ticket, a deadline and a cancellation descriptor,
// and gets exactly one reply whatever the plugin does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "core/base/unique_fd.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/plugin_call.hpp"
#include "core/keeper/worker_pool.hpp"

namespace exechost::keeper {

class Operations {
 public:
  // How a call ended and what the host wanted meanwhile.
  struct Ending {
    CallResult result;
    bool abandoned = false;  // `overdue` was called before: nobody waits for this any more
    bool stopped = false;    // its deadline passed or it was cancelled
    ReplyStatus stop_status = ReplyStatus::cancelled;
  };
  using Task = std::function<CallResult(const plugin::CallLimits&)>;
  using Done = std::function<void(Ending)>;     // on the loop thread, once
  using Overdue = std::function<void(Ending)>;  // on the loop thread, at most once, before Done

  // `loop` is shared with the workers' tasks, which may outlive this object.
  Operations(std::shared_ptr<EventLoop> loop, WorkerPool& pool) : loop_(std::move(loop)), pool_(pool) {}

  using Id = std::uint64_t;
  // Begins the clock. `overdue` is called when the plugin has not answered within 2 s of the
  // deadline or the cancellation; the call then goes on unattended. `what` is for its message.
  Result<Id> begin(std::int64_t deadline_ns, std::string what, Overdue overdue);
  // Runs the task on a worker.
  void run(Id id, Task task, const Done& done);
  // Makes the cancellation descriptor readable.
  void cancel(Id id) { stop(id, ReplyStatus::cancelled); }
  void cancel_all();
  bool empty() const { return operations_.empty(); }
  // Called on the loop thread whenever the last one has ended.
  void when_empty(std::function<void()> handler) { when_empty_ = std::move(handler); }

 private:
  struct Operation {
    std::shared_ptr<UniqueFd> cancel_fd;
    std::int64_t deadline_ns = INT64_MAX;
    std::string what;
    Overdue overdue;
    EventLoop::Timer deadline_timer = 0;
    EventLoop::Timer grace_timer = 0;
    Ending ending;
  };
  void stop(Id id, ReplyStatus status);
  void give_up(Id id);
  void finish(Id id, CallResult result, const Done& done);

  std::shared_ptr<EventLoop> loop_;
  WorkerPool& pool_;
  Id next_ = 1;
  std::map<Id, Operation> operations_;
  std::function<void()> when_empty_;
};

}  // namespace exechost::keeper

// What an Execution handle points to: the way to the run that is under way, and its result.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "core/base/reactor.hpp"
#include "core/execution/execution.hpp"
#include "core/execution/stdin_buffer.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/host.hpp"

namespace exechost {
namespace host {

// Safe to use from any thread. The reactor is touched only while it isn't finished, and the host
// keeps the reactor until everything has finished.
struct ExecutionState {
  ExecutionState(Reactor& owner, std::shared_ptr<execution::StdinBuffer> stdin_buffer, bool has_terminal)
      : reactor(owner), input(std::move(stdin_buffer)), tty(has_terminal) {}

  Reactor& reactor;
  const std::shared_ptr<execution::StdinBuffer> input;  // null: the request's stdin is no stream
  const bool tty;

  mutable std::mutex mutex;
  std::condition_variable ended;
  bool finished = false;
  bool cancel_requested = false;
  std::stop_source cancelled;           // requested with it: for what waits before there is a run
  std::shared_ptr<execution::Run> run;  // the attempt under way
  ExecResult result;

  // Runs `work` with the attempt under way on the reactor thread; nothing when there is none.
  void with_run(std::function<void(execution::Run&)> work);
  void cancel();
  void finish(ExecResult value);  // [reactor]
};

}  // namespace host

// Apart, since what is nested in an exported class would be exported with it.
struct Execution::State : host::ExecutionState {
  using ExecutionState::ExecutionState;
};

}  // namespace exechost

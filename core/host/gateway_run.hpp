// One run in the gateway tier: a file operation in this process, whose output goes the same way as
// any command's.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "core/base/reactor.hpp"
#include "core/execution/command_streams.hpp"
#include "core/execution/phase_clock.hpp"
#include "core/gateway/commands/run.hpp"
#include "core/keeper/worker_pool.hpp"
#include "core/plan/plan.hpp"
#include "exechost/exec_result.hpp"

namespace exechost::host {

struct GatewaySpec {
  std::shared_ptr<const plan::Plan> plan;
  gateway::Policy policy;
  execution::StreamsSpec streams;
  std::int64_t deadline_ns = 0;
  std::stop_token cancelled;
};

// Reactor thread only; the operation itself is one of the workers'.
class GatewayRun : public std::enable_shared_from_this<GatewayRun> {
 public:
  GatewayRun(Reactor& reactor, keeper::WorkerPool& workers, GatewaySpec spec);
  // `done` is called once, on the reactor thread.
  void start(std::function<void(ExecResult)> done);

 private:
  struct Outcome {
    Result<gateway::CommandEnd> end;
    bool reader_gone = false;
  };
  void watch_deadline_and_cancel();
  void stop(Status status);
  void ended(Outcome outcome);
  void advance();
  void finish();

  Reactor& reactor_;
  keeper::WorkerPool& workers_;
  GatewaySpec spec_;
  std::unique_ptr<execution::CommandStreams> streams_;
  std::stop_source stopped_;
  boost::asio::steady_timer deadline_;
  std::optional<std::stop_callback<std::function<void()>>> on_cancel_;
  std::optional<Status> stopped_as_;
  execution::PhaseClock phases_;
  bool operation_over_ = false;
  ExecResult result_;
  std::function<void(ExecResult)> done_;
  std::shared_ptr<GatewayRun> self_;  // until it has finished: what it waits for knows it weakly only
};

}  // namespace exechost::host

// One request on its way after planning: admission, the chosen backend, then others as far as the
// failure contract and the settings allow. Each candidate gets a plan and an admission of its own;
// nothing that may have started is run again.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/admission/gate.hpp"
#include "core/base/reactor.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/execution/execution.hpp"
#include "core/host/background_start.hpp"
#include "core/host/execution_state.hpp"
#include "core/host/planner.hpp"
#include "core/host/session_environments.hpp"
#include "core/keeper/worker_pool.hpp"
#include "core/plan/plan.hpp"
#include "core/workspace/copies.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/request.hpp"

namespace exechost::host {

using KeeperPointer = std::shared_ptr<environment::KeeperPort>;
using PlanPointer = std::shared_ptr<const plan::Plan>;

struct RequestContext {
  Request request;
  Prepared prepared;
  PlanPointer plan;  // the first
  admission::Rules rules;
  Result<KeeperPointer> keeper;  // the first plan's; null for the gateway tier
  // For another backend's plan; on a worker, since it may have to be started.
  std::function<Result<KeeperPointer>(const keeper::PluginChoice&, bool named)> keeper_for;
  keeper::WorkerPool* workers = nullptr;        // outlives every run
  SessionEnvironments* environments = nullptr;  // outlives every run
  bool single_run = false;
  std::string session_owner;
  std::optional<BackgroundWish> background;  // set: it only has to start
  bool builtin = false;
  workspace::Copies* copies = nullptr;  // outlives every run
  files::Limits copy_limits;
  std::string guest_program;
  std::string spill_dir;
  execution::StreamsSpec streams;
  std::int64_t began_ns = 0;
  std::chrono::microseconds planning{0};
};

// Reactor thread only.
class RequestRun : public std::enable_shared_from_this<RequestRun> {
 public:
  // `gate` outlives every run, and is destroyed before `reactor`.
  RequestRun(Reactor& reactor, admission::Gate& gate, std::shared_ptr<ExecutionState> state, RequestContext context);
  // `done` is called once, after the state has its result.
  void start(std::function<void()> done);

 private:
  // A plan that waits for a person's answer.
  struct Pending {
    Pending(Reactor& reactor, PlanPointer held, admission::Asked put)
        : plan(std::move(held)), asked(std::move(put)), deadline(reactor.context()) {}
    PlanPointer plan;
    admission::Asked asked;
    std::stop_source withdrawn;
    boost::asio::steady_timer deadline;
    std::int64_t began_ns = 0;
    std::optional<std::stop_callback<std::function<void()>>> on_cancel;
  };
  void admit(const PlanPointer& plan);
  void ask(const PlanPointer& plan, admission::Asked asked);
  void answered(Answer answer);
  void withdraw(Status status);
  std::unique_ptr<Pending> take_pending();
  void refuse(const plan::Plan& plan, Failure failure);
  void attempt(const PlanPointer& plan);
  void copy_workspace(const PlanPointer& plan);
  void go_on(const PlanPointer& plan);
  void find_keeper(const PlanPointer& plan);
  void execute(const PlanPointer& plan, const Result<KeeperPointer>& keeper);
  void start_background(const PlanPointer& plan, const KeeperPointer& keeper);
  bool was_gone(const ExecResult& result);
  void operate(const PlanPointer& plan);
  void ended(const PlanPointer& plan, ExecResult result);
  bool try_another(const PlanPointer& plan, const ExecResult& result);
  void finish(const plan::Plan& plan, ExecResult result);

  Reactor& reactor_;
  admission::Gate& gate_;
  std::shared_ptr<ExecutionState> state_;
  RequestContext context_;
  std::string first_backend_;  // context_.keeper is for it
  std::int64_t deadline_ns_;
  std::vector<Attempt> attempts_;
  std::unique_ptr<Pending> pending_;
  std::string approval_;
  bool recreated_ = false;  // the session's environment was found to be gone
  std::map<std::string, std::chrono::microseconds> earlier_phases_;
  std::function<void()> done_;
};

// The failures after which another backend may be tried, if nothing has started.
bool allows_fallback(const ExecResult& result);

// A result for a request that failed before anything was done.
ExecResult failed_result(const Failure& failure, std::int64_t began_ns);

}  // namespace exechost::host

// One run: environment, command, streams, end. A state machine on the reactor thread; it has no
// thread of its own and never blocks.
//
//   open -> spawn -> run -> (exited) -> gone -> drain -> close -> result
//
// One absolute deadline covers all of it. The final status is decided once: what comes later
// (the death by our own signal after a timeout) doesn't change it.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/reactor.hpp"
#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/execution/command_streams.hpp"
#include "core/execution/phase_clock.hpp"
#include "core/keeper/messages.hpp"
#include "core/plan/plan.hpp"
#include "exechost/exec_result.hpp"

namespace exechost::execution {

struct RunSpec {
  std::shared_ptr<const plan::Plan> plan;
  keeper::PluginChoice plugin;
  std::string guest_path;
  StreamsSpec streams;
  std::int64_t deadline_ns = kNoDeadline;
};

// How long each step may take that nobody else bounds.
struct RunLimits {
  std::chrono::milliseconds drain{250};          // reading on after nothing of the command is left
  std::chrono::milliseconds kill{5000};          // from SIGKILL, or from the main process's end, to `gone`
  std::chrono::milliseconds give_up_open{5000};  // from cancelling an open to its reply
  std::chrono::milliseconds close{10'000};       // closing the environment
};

class Run : public std::enable_shared_from_this<Run> {
 public:
  using DoneHandler = std::function<void(ExecResult)>;

  Run(Reactor& reactor, std::shared_ptr<environment::KeeperPort> keeper,
      std::shared_ptr<environment::EnvironmentSource> environments, RunSpec spec, RunLimits limits = {});
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Calls `done` exactly once, never before start() returns. [reactor]
  void start(DoneHandler done);
  // Ends it, nothing of the command left; `done` gets `cancelled` unless something else had been
  // decided. [reactor]
  void cancel();
  // Ignored unless takes_signals(). [reactor]
  void signal(int number);
  Result<void> resize(std::uint16_t rows, std::uint16_t columns);  // [reactor]
  // The command has started and its main process has not ended, as far as we know. [any]
  bool running() const { return running_.load(); }
  // It ran, or was to run, in an environment that was there before. [reactor]
  bool environment_was_there() const { return lease_ && lease_->reused; }
  // A signal reaches the command: it was sent off (until it has started the keeper holds signals
  // back) and its main process has not ended, as far as we know. Its output may be here before the
  // news that it has started. [any]
  bool takes_signals() const { return takes_signals_.load(); }

 private:
  enum class Stage { opening, spawning, running, exited, over, done };

  void stop(Status status);
  void on_acquired(environment::Acquired acquired);
  void spawn();
  void on_event(const keeper::ExecutionEvent& event);
  void on_confined(const keeper::ExecutionEvent& event);
  void on_started();
  void on_exited(const keeper::ExecutionEvent& event);
  void on_gone();
  void on_failed(const keeper::ExecutionEvent& event);
  // The keeper or the guest broke the contract: the command must not go on.
  void break_off(std::string message);
  void command_over();
  void advance();
  void on_drain_limit();
  void on_delivery_limit();
  void close_environment();
  void on_closed(const keeper::Reply& reply);
  void on_open_given_up();
  void on_close_limit();
  void kill_command();
  void on_kill_limit();
  void finish();

  bool decide(Status status);
  void decide_failure(Failure failure);
  void warn(std::string text) { result_.warnings.push_back(std::move(text)); }
  // Calls `then` after `span` unless the timer was set anew or cancelled.
  void after(boost::asio::steady_timer& timer, std::chrono::milliseconds span, void (Run::*then)());

  Reactor& reactor_;
  std::shared_ptr<environment::KeeperPort> keeper_;
  std::shared_ptr<environment::EnvironmentSource> environments_;
  RunSpec spec_;
  RunLimits limits_;
  DoneHandler done_;

  Stage stage_ = Stage::opening;
  PhaseClock phases_;
  boost::asio::steady_timer deadline_timer_;
  boost::asio::steady_timer step_timer_;  // for open, kill and drain, which follow each other
  boost::asio::steady_timer close_timer_;
  boost::asio::steady_timer delivery_timer_;
  environment::EnvironmentSource::Ticket acquisition_ = 0;
  std::optional<environment::Lease> lease_;
  environment::Ticket execution_ = 0;
  std::unique_ptr<CommandStreams> streams_;
  std::optional<Status> decided_;
  ExecResult result_;
  std::atomic<bool> running_{false};
  std::atomic<bool> takes_signals_{false};
  bool use_guest_ = false;
  bool start_known_ = false;  // somebody said whether the command had started
  bool confined_ = false;
  bool stop_sent_ = false;
  bool intact_ = true;  // nothing of the command is left in the environment
  bool draining_ = false;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace exechost::execution

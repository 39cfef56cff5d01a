// One command in one environment: brings together what the plugin (or the guest that serves the
// environment) says about the process it started and what the guest says about the command, into the events of
// messages.hpp. Everything here is on the loop's thread; calls that may block go to workers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/unique_fd.hpp"
#include "core/keeper/environment.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/guest_channel.hpp"
#include "core/keeper/messages.hpp"
#include "core/keeper/operations.hpp"
#include "core/keeper/shell/run.hpp"
#include "core/keeper/spawn_call.hpp"
#include "core/keeper/started_process.hpp"
#include "core/keeper/worker_pool.hpp"

namespace exechost::keeper {

class Execution : public std::enable_shared_from_this<Execution> {
 public:
  // What an execution needs of the session it is in.
  struct Surroundings {
    std::shared_ptr<EventLoop> loop;  // shared with workers' tasks
    WorkerPool& pool;
    Operations& operations;
    std::function<void(ExecutionEvent)> send;
    // The plugin has let go of it, or will never: it is forgotten.
    std::function<void()> retired;
    // Ends the environment from outside, then calls back with what came of it.
    std::function<void(std::function<void(CallResult)>)> destroy_environment;
  };

  Execution(Surroundings surroundings, std::shared_ptr<Environment> environment, SpawnRequest request);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const Environment* environment() const { return environment_.get(); }

  void start(std::vector<UniqueFd> stdio);
  // To the command's process group once it has started; 9 as kill().
  void signal(int number);
  // The whole tree: by the guest, after 2 s by the plugin (or the guest that serves), after 2 s more with the
  // environment.
  void kill();
  // The same with less patience: the host is gone.
  void kill_hard();

 private:
  enum class KillStage { none, guest, process, environment };
  void spawned(const SpawnOutcome& outcome, bool stopped);
  void begin(std::vector<UniqueFd> stdio);
  // Of a shell that takes part in the state of its environment's shells (execution_shell.cpp).
  void wait_for_turn(std::vector<UniqueFd> stdio);
  bool open_shell(std::vector<UniqueFd>& descriptors);
  void give_up_turn();
  void conclude_shell(ExecutionEvent& event);
  void leave_turn();
  void start_served(UniqueFd guest_end, std::vector<UniqueFd> stdio);
  void hold(std::shared_ptr<StartedProcess> process);
  void watch_process();
  void watch_guest();
  void read_guest();
  void read_process();
  void handle(const guest::Message& message);
  void guest_broke(Failure failure);
  void process_failed(ProcessNews news);
  void conclude_with_guest(std::optional<Failure> plugin_failure, int wait_status);
  void conclude_plain(const ProcessNews& news);
  void ask_process_to_end();
  void destroy_environment();
  void arm(KillStage next);
  void disarm();

  Started command_started() const;
  Failure not_started(int wait_status) const;
  Failure lost(int wait_status) const;
  void emit(ExecutionEvent event);
  void send(ExecutionEvent::Kind kind);
  void send_exited(int wait_status, ResourceUsage usage);
  void send_failed(Failure failure, Started started);
  void unwatch();
  void retire();

  Surroundings around_;
  std::shared_ptr<Environment> environment_;
  SpawnRequest request_;
  std::optional<GuestChannel> guest_;
  bool guest_open_ = false;
  std::optional<Failure> failure_;           // what the guest reported or broke; told when nothing is left
  std::shared_ptr<StartedProcess> process_;  // what runs in the environment; with a guest, that
  bool served_ = false;                      // by the environment's own guest, and not by the plugin
  std::unique_ptr<shell::Run> shell_;
  shell::Turns::Id turn_ = 0;    // among the environment's shells; 0: it takes no part, or not any more
  bool waiting_ = false;         // for its turn
  Operations::Id spawning_ = 0;  // 0: spawn has returned
  bool process_started_ = false;
  bool perhaps_started_ = false;  // what could say whether it was started is lost
  bool process_done_ = false;     // it said its last word: only release may follow
  bool kill_requested_ = false;   // by the host
  bool finished_ = false;         // the last event was sent
  bool retired_ = false;
  std::vector<int> held_signals_;  // until the command has started
  KillStage kill_stage_ = KillStage::none;
  EventLoop::Timer kill_timer_ = 0;
  std::chrono::milliseconds patience_{1000};  // with each of two stages of a kill, before the environment is destroyed
};

}  // namespace exechost::keeper

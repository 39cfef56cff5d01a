// Environments of the plugin, opened, listed, closed and reaped one by one through a keeper of their own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "core/execution/execution.hpp"
#include "core/execution/stdin_buffer.hpp"
#include "core/host/host_core.hpp"
#include "core/keeper/messages.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/request.hpp"

namespace exechost::conformance {

// An open environment.
struct OpenPlace {
  std::uint64_t number = 0;  // the keeper's
  nlohmann::json entry;      // as the ledger has it: what a reaper is given
  std::string name() const { return entry.at("name").get<std::string>(); }
};

// A command that runs in an open environment. Its input stays open until close_input().
class CommandInPlace {
 public:
  // It has started and not ended, as far as is known.
  bool running() const { return run_->running(); }
  void close_input() { input_->close(); }
  // Waits for its end, at most about 25 s.
  ExecResult wait();

 private:
  friend class KeeperLink;
  std::shared_ptr<execution::Run> run_;
  std::shared_ptr<execution::StdinBuffer> input_;
  std::future<ExecResult> ended_;
  std::stop_token stop_;
};

// Every call waits for its answer, at most about twenty seconds. One object is one keeper process;
// two are as two hosts. Not safe from several threads, but `run` is.
class KeeperLink {
 public:
  // `request`: what plans are made from, its command does not matter.
  // `stop`: no call waits any longer, and what runs is cancelled.
  static Result<std::unique_ptr<KeeperLink>> make(const HostOptions& options, Request request, std::stop_token stop);
  ~KeeperLink();

  Result<OpenPlace> open(std::chrono::milliseconds time = std::chrono::seconds(20));
  // Stops waiting for the environment as soon as it was asked for. The reply's status says what came of it.
  keeper::Reply open_and_cancel();
  Result<void> close(const OpenPlace& place);
  // Names of what the backend says exists.
  Result<std::vector<nlohmann::json>> list();
  Result<void> reap(const nlohmann::json& entry);
  // Runs a script in an open environment. Exit status and both streams, as run() would say it.
  ExecResult run(const OpenPlace& place, const std::string& script,
                 std::chrono::milliseconds time = std::chrono::seconds(20));
  // Begins one and lets it run, until this object's end if need be.
  Result<CommandInPlace> begin(const OpenPlace& place, const std::string& script);
  // The working folder of the keeper's process; empty: it can't be seen.
  std::string keeper_folder();
  // SIGKILL to the keeper: what a crash leaves behind is left.
  Result<void> kill_keeper();

 private:
  struct Impl;
  explicit KeeperLink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace exechost::conformance

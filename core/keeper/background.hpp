// Commands of named sessions that nobody waits for: their streams end here and not in a host, so they go on when the
// program that started them ends. On the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/keeper/core.hpp"
#include "core/keeper/execution.hpp"
#include "core/keeper/messages.hpp"
#include "core/keeper/operations.hpp"
#include "core/keeper/output_log.hpp"
#include "core/keeper/worker_pool.hpp"

namespace exechost::keeper {

class BackgroundCommand : public std::enable_shared_from_this<BackgroundCommand> {
 public:
  using Answer = std::function<void(Reply)>;

  BackgroundCommand(std::shared_ptr<EventLoop> loop, const SpawnRequest& request);
  BackgroundCommand(const BackgroundCommand&) = delete;
  BackgroundCommand& operator=(const BackgroundCommand&) = delete;
  ~BackgroundCommand();

  const std::string& id() const { return choice_.id; }
  bool ended() const { return ended_; }
  std::chrono::steady_clock::time_point end_time() const { return end_time_; }
  std::size_t kept_bytes() const;

  // The command's ends of its streams; empty with a failure when there is no descriptor left.
  Result<std::vector<UniqueFd>> open_streams();
  void runs_as(const std::shared_ptr<Execution>& execution);
  void on_event(const ExecutionEvent& event);

  // {"id", "command", "state": starting|running|ended, "status", "exit_code", "signal", "started", "failure",
  //  "started_unix_ms", "duration_ms", "stdout": {"begin", "end"}, "stderr": ..., "input": open|closed}
  nlohmann::json describe() const;
  // [stream 1 or 2] {"offset", "data", "end", "ended"}: at once.
  nlohmann::json read(int stream, std::uint64_t offset) const;
  // The same answer as describe(), when it has ended or its output has grown beyond what was seen, or the deadline.
  void await(std::uint64_t out_seen, std::uint64_t err_seen, std::int64_t deadline_ns, Answer answer);
  void signal(int number);
  // {"taken"}: how much of it was taken, as soon as that is something, or nothing at the deadline. A closed or absent
  // input, or another writer that waits: a failure.
  void write_input(std::string data, std::int64_t deadline_ns, Answer answer);
  void close_input();

 private:
  struct Watcher {
    std::uint64_t out_seen = 0;
    std::uint64_t err_seen = 0;
    EventLoop::Timer timer = 0;
    Answer answer;
  };
  struct PendingInput {
    std::string data;
    EventLoop::Timer timer = 0;
    Answer answer;
  };
  void readable(UniqueFd& stream, OutputLog& log);
  void try_input(bool last);
  void answer_input(Reply reply);
  void time_is_up();
  void finish_when_read();
  void tell_watchers();
  Reply description() const;

  const std::shared_ptr<EventLoop> loop_;
  const BackgroundChoice choice_;
  const std::string command_;
  std::weak_ptr<Execution> execution_;
  UniqueFd out_;
  UniqueFd err_;
  UniqueFd input_;  // its writing end
  OutputLog out_log_;
  OutputLog err_log_;
  std::list<Watcher> watchers_;
  std::optional<PendingInput> pending_input_;
  EventLoop::Timer deadline_ = 0;
  EventLoop::Timer grace_ = 0;
  EventLoop::Timer drain_ = 0;
  const std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point end_time_;
  bool running_ = false;
  bool over_ = false;   // nothing of it is left; its output may still be read
  bool ended_ = false;  // and that is read, too
  bool timed_out_ = false;
  std::optional<ExecutionEvent> exited_;
  std::optional<ExecutionEvent> failed_;
};

}  // namespace exechost::keeper

// The sessions of a detached keeper: environments that are known by a name, that whoever asks for that name gets, and
// that outlive the connection they were opened for. On the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/keeper/background.hpp"
#include "core/keeper/environments.hpp"
#include "core/keeper/session_marks.hpp"
#include "core/keeper/worker_pool.hpp"

namespace exechost::keeper {

class NamedSessions {
 public:
  // Whoever asks: a connection, as a name only.
  using Caller = const void*;
  using Answer = std::function<void(Reply)>;

  // `changed` is called when there may be none any more.
  NamedSessions(std::shared_ptr<Core> core, WorkerPool& pool, SessionMarks marks, std::function<void()> changed);
  NamedSessions(const NamedSessions&) = delete;
  NamedSessions& operator=(const NamedSessions&) = delete;
  ~NamedSessions();

  // The session's environment, opened when there is none; those who come meanwhile wait for the same one.
  // invalid_request names what is different when it was opened for another place (SessionChoice::recreate: it is
  // closed then, whoever uses it, and opened anew). The caller uses it until release().
  void open(Caller caller, std::uint64_t ticket, OpenRequest request, Answer answer);
  // That caller need not wait any more: answered with `cancelled`.
  void cancel(Caller caller, std::uint64_t ticket);
  // Null when the caller doesn't use an environment of that number.
  std::shared_ptr<Environment> used_by(Caller caller, std::uint64_t number) const;
  void release(Caller caller, const std::shared_ptr<Environment>& environment);
  // It must go: something in it does not end, or it was lost.
  void destroy(const std::shared_ptr<Environment>& environment, bool purge, std::int64_t deadline_ns,
               Environments::Closed closed);
  void host_is_gone(Caller caller);

  // [{"name", "owner", "backend", "state": opening|idle|running|closing, "running": N, "age_ms", "idle_ms",
  //   "idle_timeout_ms", "max_lifetime_ms", "environment_id"}]
  nlohmann::json list(const std::string& owner) const;
  // Ends what runs in it and closes it. invalid_request: there is none of that name.
  void stop(const std::string& owner, const std::string& name, bool purge, std::int64_t deadline_ns,
            Environments::Closed closed);
  // Starts a command that goes on when its host ends. `send` hears of it as of any execution's events, while it can.
  void start_background(const std::shared_ptr<Environment>& environment, SpawnRequest request,
                        std::function<void(ExecutionEvent)> send);
  // await, read, write, signal. invalid_request: there is no such session or command.
  void about_background(const SessionsRequest& request, const Answer& answer);

  // Every session, because the keeper ends. They are gone when empty().
  void end_all(std::int64_t deadline_ns);
  bool empty() const { return sessions_.empty() && operations_.empty() && commands_.empty(); }

 private:
  struct Waiter {
    Caller caller = nullptr;
    std::uint64_t ticket = 0;
    OpenRequest request;
    Answer answer;
  };
  struct Session {
    SessionChoice choice;
    std::string backend;
    std::shared_ptr<Environment> environment;  // null: it is being opened
    Operations::Id opening = 0;
    std::list<Waiter> waiters;
    std::map<Caller, std::size_t> users;
    EventLoop::Timer idle_timer = 0;
    EventLoop::Timer lifetime_timer = 0;
    bool lost = false;  // it is being closed because it was lost, by nobody's wish
    std::chrono::steady_clock::time_point since;
    std::chrono::steady_clock::time_point idle_since;
  };
  using Key = std::pair<std::string, std::string>;  // owner, name

  void begin_opening(const Key& key);
  void opened(const Key& key, Operations::Id id, const Operations::Ending& ending,
              const std::shared_ptr<Environment>& environment);
  void give(Session& session, Waiter& waiter, bool reused, bool lost = false);
  void answer_failed(const Waiter& waiter, Failure failure);
  void close(const Key& key, bool purge, std::int64_t deadline_ns, Environments::Closed closed);
  void closed(const Key& key, const Environment* environment, const CallResult& result);
  void look_whether_idle(const Key& key);
  std::map<Key, Session>::iterator session_of(const Environment* environment);

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<EventLoop> loop_;  // the core's
  const std::function<void()> changed_;
  Operations operations_;
  Environments environments_;
  using Commands = std::list<std::shared_ptr<BackgroundCommand>>;
  std::shared_ptr<BackgroundCommand> command_of(const SessionsRequest& request) const;
  nlohmann::json describe_all(const Key& key) const;
  void drop_old_commands(const Key& key);
  void forget_commands_later(const Key& key);

  WorkerPool& pool_;
  SessionMarks marks_;
  std::map<Key, Commands> commands_;  // in the order they were started; also of sessions that have ended
  std::map<Key, Session> sessions_;
};

}  // namespace exechost::keeper

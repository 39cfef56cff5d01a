// A named session: an environment that successive runs share, in this program and in others of the same user, until it
// was idle for too long or is stopped. See docs/sessions.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "exechost/exec_result.hpp"
#include "exechost/export.hpp"
#include "exechost/failure.hpp"
#include "exechost/host.hpp"
#include "exechost/request.hpp"

namespace exechost {

// A command that goes on in its session when the program that started it ends.
struct DetachedOptions {
  std::string id;           // unique in its session; empty: one is made up
  bool keep_input = false;  // its standard input stays open for write_input; else it is /dev/null
};

// What is kept of a stream, by offset from its beginning: the last part, some MiB.
struct LogRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // so far
};

// One such command, as its keeper knows it.
struct DetachedCommand {
  std::string id;
  std::string command;             // for a person
  bool ended = false;              // nothing of it is left, and all of its output is there
  Status status = Status::exited;  // when it has ended: exited, signaled, timed_out or failed
  int exit_code = -1;              // for exited
  int signal_number = 0;           // for signaled
  Started started = Started::unknown;
  std::optional<Failure> failure;
  std::chrono::milliseconds duration{0};
  LogRange out;
  LogRange err;
  bool input_open = false;
};

// Made by ExecHost::session(), which must outlive it; cheap to copy. Nothing is opened before the first run, and
// destroying it ends nothing. Safe to use from any thread.
class EXECHOST_API Session {
 public:
  Session(ExecHost& host, std::string name) : host_(&host), name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  // As ExecHost::run and ExecHost::start, with Request::session set to this one. A request for another place than the
  // one the session was opened for fails with invalid_request, which names what is different.
  ExecResult run(Request request, std::stop_token stop = {}) const;
  Result<Execution> start(Request request) const;

  // Starts a command that goes on without this program; its id. Without a time-out of its own it has none. What it
  // says is kept by the keeper until the session is stopped, or for an hour after it ended otherwise.
  Result<std::string> start_detached(Request request, const DetachedOptions& options = {}) const;

  // In what follows `command` is an id, or empty for the one that was started last. invalid_request: there is none.
  // Waits until it has ended or its streams go beyond what was seen, `at_most` so long.
  Result<DetachedCommand> await(const std::string& command, std::uint64_t out_seen, std::uint64_t err_seen,
                                std::chrono::milliseconds at_most) const;
  // A part of stream 1 or 2 from `offset` on, or from where what is kept begins: `offset` is then that. Empty: there is
  // nothing more yet.
  Result<std::string> read_log(const std::string& command, int stream, std::uint64_t& offset) const;
  // To its process group; SIGKILL ends the whole tree.
  Result<void> signal(const std::string& command, int number) const;
  // How much was taken: waits until its pipe has room for something, ten seconds at most; then it is nothing.
  Result<std::size_t> write_input(const std::string& command, std::string_view data) const;
  Result<void> close_input(const std::string& command) const;

  // As ExecHost::stop_session.
  Result<void> stop(bool purge = false) const;

 private:
  ExecHost* host_;
  std::string name_;
};

}  // namespace exechost

// ExecHost: runs commands that nobody has read yet.
//
//   exechost::ExecHost host;
//   exechost::Request request;
//   request.argv = {"npm", "test"};
//   exechost::ExecResult result = host.run(request);
//
// One ExecHost owns one reactor thread and, by placement, one keeper; both start
// at first need. All members are safe to call from any thread, but those that wait
// (run, start, explain, backends, Execution::wait, the destructor) not from an
// output callback: run and start then fail, wait throws std::logic_error. Destroying
// an ExecHost cancels what still runs and waits until nothing of it is left.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/approver.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/export.hpp"
#include "exechost/files.hpp"
#include "exechost/gateway.hpp"
#include "exechost/request.hpp"

namespace exechost {

// Where the keeper (the part that owns environments) lives.
enum class KeeperPlacement {
  in_process,  // a thread of this process: for one-shot programs
  child,       // a child process: no fork, no SIGCHLD and no hostile input in this address space
};

struct HostOptions {
  KeeperPlacement keeper = KeeperPlacement::child;
  // The one writable folder of commands; empty: the process's working folder at construction.
  std::string workspace;
  // The environment variables to read settings and the commands' environment from;
  // not set: a copy of this process's environment at construction.
  std::optional<std::map<std::string, std::string>> environment;
  // Roots of settings files, for tests and embedding; empty: the system's
  // (/etc/exechost) and the user's ($XDG_CONFIG_HOME/exechost).
  std::string system_config_dir;
  std::string user_config_dir;
  // Installation prefix with libexec/exechost and lib/exechost/plugins; empty:
  // found from the location of the running program or library.
  std::string prefix;
  // Who is asked about commands that the settings neither allow nor deny, and about a weaker place than
  // was chosen. Not set: nobody, and such commands are refused.
  Approver approver;
  // For a program that runs one command and ends: it gets an environment of its own even where the settings
  // let runs share one (session.persistent).
  bool single_run = false;
  // Named sessions (Request::session) of different owners are different ones, whatever their names.
  std::string session_owner;
};

// A command that was started. Movable; the destructor cancels it if it still runs.
class EXECHOST_API Execution {
 public:
  Execution(Execution&&) noexcept;
  Execution& operator=(Execution&&) noexcept;
  ~Execution();

  // Blocks until the end; every later call returns the same result. [any thread]
  const ExecResult& wait();
  // True when wait() would not block. [any thread]
  bool finished() const;
  // True from the command's start until its main process has ended, as far as is known: false
  // while its environment is being prepared. [any thread]
  bool running() const;
  // Kills the whole tree; returns at once, wait() returns when nothing is left. [any thread]
  void cancel();
  // Sends a signal to the command's process group. Failure: it has ended, or the
  // backend can't. [any thread]
  Result<void> signal(int number);
  // For StdinSource::stream. Copies the bytes; returns how much was taken: less
  // than given (0 included) when the buffer (1 MiB) is full. [any thread]
  Result<std::size_t> write_stdin(std::string_view bytes);
  void close_stdin();
  // For tty executions. [any thread]
  Result<void> resize(std::uint16_t rows, std::uint16_t columns);

  struct State;
  explicit Execution(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

class Session;  // session.hpp

class EXECHOST_API ExecHost {
 public:
  explicit ExecHost(HostOptions options = {});
  ~ExecHost();
  ExecHost(const ExecHost&) = delete;
  ExecHost& operator=(const ExecHost&) = delete;

  // Runs a command to its end. A stop request on `stop` cancels it. Never throws
  // for anything a request or a backend can do: that is in the result.
  ExecResult run(const Request& request, std::stop_token stop = {});

  // Starts a command. Failures up to the plan, and refusals that need no question, are returned here;
  // later ones are in Execution::wait(). A question is asked while the execution exists already:
  // cancelling that withdraws it.
  Result<Execution> start(const Request& request);

  // The gateway tier's file operations as functions, within the workspace and the settings that a
  // request like this one would have (its command does not matter). What it may touch is settled now.
  Result<gateway::Gateway> gateway(Request request = {});

  // Files into and out of environments. A Request says which one, as for run(): its session, its settings; its
  // command and streams do not matter. Paths in an environment begin at the request's cwd, those of this machine
  // at the process's working folder when this ExecHost was made. A target that is a folder gets the source under
  // its own name; any other is replaced, its parent has to be there. Block until it is done. A stop request
  // cancels. Never throw for what a request, a file or a command can do.
  CopyResult copy_in(const std::string& local, const Request& where, const std::string& path,
                     const CopyOptions& options = {}, std::stop_token stop = {});
  CopyResult copy_out(const Request& where, const std::string& path, const std::string& local,
                      const CopyOptions& options = {}, std::stop_token stop = {});
  CopyResult copy_between(const Request& from, const std::string& path, const Request& to, const std::string& target,
                          const CopyOptions& options = {}, std::stop_token stop = {});

  // Looks at files of an environment and removes them, named as for copy_in. Links are not followed but for those
  // in the folders before the last name. invalid_request, with the errno: there is no such file, or it is of another
  // kind (ENOTDIR, ENOTEMPTY); more entries than files.max_entries. unsupported: the backend has no place for the
  // guest, or the tier is node or gateway. A stop request cancels (unavailable, ECANCELED).
  Result<FileEntry> file_status(const Request& where, const std::string& path, std::stop_token stop = {});
  // What is in a folder, by name.
  Result<std::vector<FileEntry>> list_files(const Request& where, const std::string& path, std::stop_token stop = {});
  // A file, a link or an empty folder; with `tree` a folder and everything below, over no link and onto no other mount.
  // When that breaks off, what was removed is gone.
  Result<void> remove_file(const Request& where, const std::string& path, bool tree = false, std::stop_token stop = {});

  // What the runs of this request's session changed in their copy of the workspace (workspace.mode copy), without
  // changing anything. invalid_request when there is no copy.
  Result<ChangeList> changes(const Request& request);
  // Carries changes over into the workspace: those of `paths` (relative to it) and below, all when empty.
  Result<ApplyResult> apply(const Request& request, const std::vector<std::string>& paths = {});
  // Removes the copy with what was changed in it. Nothing may run in it.
  Result<void> discard_changes(const Request& request);

  // What run() would do, as one JSON object (schema: `exechost schema plan`),
  // without doing it.
  Result<std::string> explain_json(const Request& request);
  // The same for a person's eyes.
  Result<std::string> explain_text(const Request& request);

  // A named session, which other programs of this user can join. `name`: anything but empty.
  Session session(std::string name);
  // The named sessions that are open, of this host's session_owner: a JSON array of {"name", "backend", "state"
  // (opening, idle, running, closing), "running" (commands), "age_ms", "idle_ms", ...}.
  Result<std::string> sessions_json();
  // Ends what runs in it and closes it. `purge`: what a backend would keep beyond that goes as well. invalid_request:
  // there is none of that name.
  Result<void> stop_session(const std::string& name, bool purge = false);

  // Capability statements of every backend found, static and probed, as a JSON array.
  Result<std::string> backends_json();

 private:
  friend class Session;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace exechost

// What somebody wants to run, and how it differs from the settings in force.
//
// Value type. Every field that is not set leaves the decision to the settings
// (docs/settings.md); a field that is set wins over files and environment
// variables, and loses only to the administrator's managed settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exechost {

enum class StdStream { out, err };

// Called on the host's reactor thread with bytes valid only during the call. Must
// not block and must not throw; calls for one execution never overlap and keep
// each stream's order (order between the two streams is not defined).
using OutputCallback = std::function<void(StdStream stream, std::string_view bytes)>;

// Where the command's standard input comes from.
struct StdinSource {
  enum class Kind {
    none,        // /dev/null: the command reads end-of-file at once
    bytes,       // exactly `bytes`, then end-of-file
    stream,      // Execution::write_stdin / close_stdin
    descriptor,  // pumped from `descriptor`, which stays the caller's and never enters the sandbox
  };
  Kind kind = Kind::none;
  std::string bytes;
  int descriptor = -1;
};

struct Request {
  // The command. Exactly one of the two is given. `argv` is passed on byte for
  // byte; `shell` is run by /bin/sh -c inside the environment. In one that lasts it goes on where
  // the last script in it ended, one after the other, in bash where there is one (docs/sessions.md).
  std::vector<std::string> argv;
  std::optional<std::string> shell;

  // Where the command starts; absolute, or relative to the workspace. Never
  // makes anything writable. Not set: the workspace, or where the session's last script ended.
  std::optional<std::string> cwd;
  std::map<std::string, std::string> env;  // added to the environment the settings build

  std::optional<std::string> tier;     // "sandbox", "gateway", "node"
  std::optional<std::string> backend;  // "bwrap", "docker", ...
  std::optional<std::string> profile;  // "run", "install", "read_only" or the user's own
  std::optional<std::string> session;  // name of the environment to share, also with other programs
  // A session that was opened for another place is closed, with what runs in it, and opened anew; else such a
  // request is refused.
  bool recreate_session = false;
  std::optional<std::string> workspace;              // absolute; the one writable folder
  std::optional<std::chrono::milliseconds> timeout;  // > 0; over provisioning and run together

  // Any further settings as one JSON object in the shape of the settings schema,
  // e.g. {"resources":{"memory":"512m"},"network":{"mode":"none"}}. Empty: none.
  std::string settings_json;
  // Where overrides came from, for reports and messages: JSON pointer of a setting ("/resources/memory",
  // also of those given by the fields above: "/backend") -> name ("--memory"). Not listed: "request".
  std::map<std::string, std::string> settings_origins;

  StdinSource standard_input;
  OutputCallback on_output;
  // When >= 0 the stream is also copied to this descriptor (which stays the
  // caller's). A slow reader there slows the command, not other executions; when
  // the reader has gone the command's stream is closed too, as in any pipeline
  // (with on_output or a spill file it is read to its end instead).
  int stdout_descriptor = -1;
  int stderr_descriptor = -1;

  // A pseudo-terminal instead of three pipes; stdout and stderr are then one stream.
  bool tty = false;
  std::uint16_t tty_rows = 24;
  std::uint16_t tty_columns = 80;
};

}  // namespace exechost

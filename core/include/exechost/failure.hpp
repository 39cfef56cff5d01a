// Why a command was not run, or why its end is unknown. A failure is never the
// command's own exit status: that is in ExecResult.
//
// Value types; copyable; const access is safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "exechost/export.hpp"

namespace exechost {

// The only reasons there are. Every backend answers in these terms.
enum class FailureKind {
  invalid_request,   // the request or a setting is wrong; the message names field, value and rule
  unsupported,       // a required capability is missing; names it and who has it
  unavailable,       // the backend can't be used now (program missing, kernel refuses, no credentials)
  provision_failed,  // image, quota, create or start failed
  spawn_failed,      // the environment is up but the command could not be started: errno and step
  denied,            // admission said no
  environment_lost,  // the environment went away while the command ran
  protocol_error,    // backend, guest or remote service broke its protocol
  plugin_crashed,    // a keeper or an isolated plugin died
};

// Where on a request's way it happened.
enum class Phase { plan, admission, provision, spawn, run, collect, cleanup };

// Whether the command can have had side effects. `no` until the spawn message was sent.
enum class Started { no, yes, unknown };

struct Failure {
  FailureKind kind = FailureKind::protocol_error;
  Phase phase = Phase::plan;
  std::string message;     // one sentence: what was wrong, with the value
  std::string hint;        // what a person can do next; may be empty
  std::string backend;     // id of the backend concerned; empty when none was chosen
  int error_number = 0;    // errno, 0 when none applies
  std::string step;        // the step that failed inside the phase ("chdir", "landlock", ...)
  std::string code;        // a remote service's own code; empty for local ones
  std::string request_id;  // a remote service's request id; empty for local ones

  bool operator==(const Failure&) const = default;
};

template <class T>
using Result = tl::expected<T, Failure>;
using tl::unexpected;

// The names used in JSON, logs and documentation, and back. Parsing an unknown
// name yields `fallback`: unknown reads as the weakest (design: grades and kinds
// from a newer peer must not be mistaken for something better).
EXECHOST_API std::string_view to_string(FailureKind kind);
EXECHOST_API std::string_view to_string(Phase phase);
EXECHOST_API std::string_view to_string(Started started);
EXECHOST_API FailureKind failure_kind_from(std::string_view name, FailureKind fallback = FailureKind::protocol_error);
EXECHOST_API Phase phase_from(std::string_view name, Phase fallback);

// "message (hint)": for a terminal or a log line.
EXECHOST_API std::string describe(const Failure& failure);

}  // namespace exechost

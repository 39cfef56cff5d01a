// How one request ended. The JSON form (schema: `exechost schema result`) has the
// same fields. Value type.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/export.hpp"
#include "exechost/failure.hpp"

namespace exechost {

enum class Status {
  exited,              // exit_code holds the command's own status
  signaled,            // signal_number holds what ended it
  timed_out,           // the deadline passed; nothing of the command is left
  cancelled,           // cancelled by the caller; nothing of the command is left
  resource_exhausted,  // a limit ended it; `exhausted` says which
  failed,              // see `failure`
};
EXECHOST_API std::string_view to_string(Status status);

// What one stream produced. `data` holds the head and the tail when it was cut;
// `total_bytes` is always exact.
struct CapturedStream {
  std::string data;
  std::uint64_t total_bytes = 0;
  std::uint64_t dropped_bytes = 0;  // between head and tail
  std::uint64_t head_bytes = 0;     // how much of `data` is head when something was dropped
  std::string spill_path;           // file with everything, 0600; empty when not spilled
  // Why a part of it did not arrive at the caller's descriptor, as one of the result's warnings says
  // too; empty: all of it did, there was no descriptor, or its reader went away.
  std::string undelivered;
};

struct ResourceUsage {
  std::chrono::microseconds user_time{0};
  std::chrono::microseconds system_time{0};
  std::uint64_t max_rss_bytes = 0;
};

// One setting as it was asked for and as it was in force.
struct SettingReport {
  std::string name;         // dotted, as in docs/settings.md
  std::string requested;    // JSON text; "null" when nobody asked
  std::string effective;    // JSON text
  std::string grade;        // kernel, provider, emulated, advisory, unsupported
  std::string enforced_by;  // which layer, in words ("network namespace")
  std::string origin;       // where the value came from
};

struct Attempt {
  std::string backend;
  Failure failure;
};

struct ExecResult {
  Status status = Status::failed;
  Started started = Started::no;
  int exit_code = 0;                   // meaningful for exited
  int signal_number = 0;               // meaningful for signaled
  std::optional<Phase> stopped_phase;  // for timed_out and cancelled: how far it had come
  CapturedStream out;
  CapturedStream err;
  bool pipes_held_open = false;  // something still held a stream when the drain limit passed
  std::chrono::milliseconds duration{0};
  std::map<std::string, std::chrono::microseconds> phase_times;  // plan, provision, spawn, run, collect, cleanup
  ResourceUsage usage;
  std::string tier;
  std::string backend;
  std::string environment_id;
  bool environment_recreated = false;  // the session's was gone, so the command ran in a new one: nothing of earlier
                                       // runs but the workspace is in it
  std::string session;
  std::vector<std::string> isolation;  // what was in force, in words
  std::vector<SettingReport> settings;
  std::vector<Attempt> attempts;  // backends tried before the one that ran
  std::string approval;           // the answer that admitted it ("once", "session"); empty: nobody was asked
  std::vector<std::string> warnings;
  std::optional<Failure> failure;  // set exactly when status is failed

  // One JSON object as `exechost run --json` prints it.
  EXECHOST_API std::string to_json() const;
};

}  // namespace exechost

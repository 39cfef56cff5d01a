// What host and keeper say to each other, as values. On the wire (wire.hpp) each is one
// packet of a SOCK_SEQPACKET socket: CBOR, in a sealed memfd when it is larger than
// 32 KiB, descriptors by SCM_RIGHTS.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/failure.hpp"

namespace exechost::keeper {

inline constexpr std::uint32_t kProtocolVersion = 1;
// The step of an `unavailable`: a shell runs in the environment, and this one was not to wait for it.
inline constexpr const char* kBusyStep = "session_busy";

// Which plugin to use. The keeper loads it at first need and checks it again itself.
struct PluginChoice {
  std::string id;
  std::string library;
  std::string pinned_sha256;                           // empty: not pinned
  bool pinned_by_administrator = false;                // the host's to know; does not travel
  nlohmann::json settings = nlohmann::json::object();  // the plugin's own, validated
};

struct ProbeRequest {
  PluginChoice plugin;
  std::int64_t deadline_ns = INT64_MAX;
};

struct OpenRequest {
  PluginChoice plugin;
  nlohmann::json document;  // plan::open_document
  bool serve = false;       // put a guest in that serves the commands, confined so
  plan::Confinement confinement;
  std::int64_t deadline_ns = INT64_MAX;
};

struct SpawnRequest {
  std::uint64_t environment = 0;       // from OpenReply
  std::vector<std::string> argv;       // raw bytes
  std::vector<std::string> variables;  // "NAME=value", raw bytes
  std::string cwd;
  bool tty = false;
  bool use_guest = true;  // start through exechost-guest
  plan::Confinement confinement;
  std::optional<plan::ShellRun> shell;   // in an environment with a guest that serves, in place of argv
  std::array<int, 3> stdio{-1, -1, -1};  // pipes, a terminal's slave or /dev/null; duplicated, stay the caller's
  std::int64_t deadline_ns = INT64_MAX;
};

struct CloseRequest {
  std::uint64_t environment = 0;
  bool purge = false;
  std::int64_t deadline_ns = INT64_MAX;
};

// What the backend still knows of, with ExecHost's labels.
struct ListRequest {
  PluginChoice plugin;
  std::int64_t deadline_ns = INT64_MAX;
};

// Removes what an environment left behind that was opened in another keeper, perhaps a dead one.
struct ReapRequest {
  PluginChoice plugin;
  nlohmann::json entry;  // of the ledger
  std::int64_t deadline_ns = INT64_MAX;
};

enum class ReplyStatus { ok, failed, timed_out, cancelled };

struct Reply {
  ReplyStatus status = ReplyStatus::failed;
  Failure failure;      // for failed
  nlohmann::json body;  // probe: the plugin's answer; open: {"environment": N, "id": ..., "init": ...};
                        // list: [{"name": ..., "labels": {...}}], checked
};

// What happens to one execution, in this order: confined?, started?, exited?, then exactly one
// of gone or failed. After that the execution is forgotten.
struct ExecutionEvent {
  enum class Kind {
    confined,  // the guest put its confinement on: landlock_abi, seccomp
    started,   // the command's exec succeeded
    exited,    // its main process ended: wait_status, usage
    gone,      // nothing of it is left
    failed,    // it was not started, or its end is unknown: failure and `started`
  };
  Kind kind = Kind::failed;
  int landlock_abi = 0;
  bool seccomp = false;
  int wait_status = 0;
  ResourceUsage usage;
  Failure failure;
  Started was_started = Started::no;
  std::vector<std::string> warnings;  // with gone and failed; may hold anything, so escaped where they were made
};

}  // namespace exechost::keeper

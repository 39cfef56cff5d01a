// What host and keeper say to each other, as values. On the wire (wire.hpp) each is one
// packet of a SOCK_SEQPACKET socket: CBOR, in a sealed memfd when it is larger than
// 32 KiB, descriptors by SCM_RIGHTS.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/failure.hpp"

namespace exechost::keeper {

inline constexpr std::uint32_t kProtocolVersion = 2;
// The step of an `unavailable`: a shell runs in the environment, and this one was not to wait for it.
inline constexpr const char* kBusyStep = "session_busy";
// The step of an `environment_lost` that is one command's alone: nothing of it is left, and its environment is as good
// as before.
inline constexpr const char* kSupervisorStep = "supervisor";

// Which plugin to use. The keeper loads it at first need and checks it again itself.
struct PluginChoice {
  std::string id;
  std::string library;
  std::string pinned_sha256;                           // empty: not pinned
  bool pinned_by_administrator = false;                // the host's to know; does not travel
  nlohmann::json settings = nlohmann::json::object();  // the plugin's own, validated
  bool operator==(const PluginChoice&) const = default;
};

struct ProbeRequest {
  PluginChoice plugin;
  std::int64_t deadline_ns = INT64_MAX;
};

// One of the things that an environment is made from.
struct PlacePart {
  std::string value;  // bytes, compared
  std::string shown;  // for a person, or empty

  friend bool operator==(const PlacePart& left, const PlacePart& right) { return left.value == right.value; }
};

// An environment that is known by its name, and that whoever asks for that name gets (a detached keeper's).
struct SessionChoice {
  std::string name;
  std::string owner;                       // sessions of different owner tags are different ones
  std::map<std::string, PlacePart> place;  // by what it is called in front of a person
  std::chrono::milliseconds idle_timeout{0};
  std::chrono::milliseconds max_lifetime{0};
  bool recreate = false;  // instead of refusing it when its place is another one
  bool join = false;      // what is there, whatever its place: for commands that the guest itself is
  // What a caller that joins has to know of it.
  std::string workspace;
  std::vector<std::string> writable;  // paths of this machine that commands may write
};

struct OpenRequest {
  PluginChoice plugin;
  nlohmann::json document;          // plan::open_document
  bool serve = false;               // put a guest in that serves the commands, confined so
  bool stream = false;              // and is reached over byte streams
  std::uint32_t lease_ms = 30'000;  // there: the environment is lost when so long nothing is heard of it
  plan::Confinement confinement;
  std::optional<SessionChoice> session;  // not set: for this host alone
  std::int64_t deadline_ns = INT64_MAX;
};

// A command of a named session that goes on without its host: the keeper has its streams.
struct BackgroundChoice {
  std::string id;      // unique among those of the session
  bool input = false;  // a pipe that can be written to later, instead of /dev/null
  std::int64_t run_until_ns = INT64_MAX;
  std::chrono::milliseconds kill_grace{2000};
};

struct SpawnRequest {
  std::uint64_t environment = 0;       // from OpenReply
  std::vector<std::string> argv;       // raw bytes
  std::vector<std::string> variables;  // "NAME=value", raw bytes
  std::string cwd;
  bool tty = false;
  bool use_guest = true;  // start through exechost-guest
  bool builtin = false;   // argv names a command that the guest itself is (docs/guest.md)
  plan::Confinement confinement;
  std::optional<BackgroundChoice> background;  // set: no descriptors travel
  std::optional<plan::ShellRun> shell;         // in an environment with a guest that serves, in place of argv
  std::array<int, 3> stdio{-1, -1, -1};        // pipes, a terminal's slave or /dev/null; duplicated, stay the caller's
  std::int64_t deadline_ns = INT64_MAX;
};

struct CloseRequest {
  std::uint64_t environment = 0;
  bool purge = false;
  bool keep = false;  // a session's: this host is done with it, others may go on
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

// The named sessions of this keeper.
struct SessionsRequest {
  enum class What {
    list,
    stop,   // purge
    await,  // until the command's output goes beyond what was seen, or it ended, or the deadline
    read,   // stream, offset
    write,  // data; empty: close the input
    signal  // number; SIGKILL: the whole tree
  };
  What what = What::list;
  std::string name;     // of the session; not for list
  std::string owner;    // of those that are meant; list: only these
  std::string command;  // the id of one in the background; empty: the last that was started
  bool purge = false;
  int stream = 1;
  std::uint64_t offset = 0;
  std::uint64_t out_seen = 0;
  std::uint64_t err_seen = 0;
  int number = 0;
  std::string data;
  std::int64_t deadline_ns = INT64_MAX;
};

enum class ReplyStatus { ok, failed, timed_out, cancelled };

struct Reply {
  ReplyStatus status = ReplyStatus::failed;
  Failure failure;      // for failed
  nlohmann::json body;  // probe: the plugin's answer; open: {"environment": N, "id": ..., "init": ..., "reused": BOOL,
                        // and of a session "lost": BOOL: it was there before, in a keeper that died}; list: [{"name":
                        // ..., "labels": {...}}], checked; sessions: named_sessions.hpp
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

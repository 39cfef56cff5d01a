// What will happen for one request: data, computed without side effects from request,
// settings, statements, probes and facts. `explain` prints it; execution carries it out and
// adds nothing to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/capability.hpp"
#include "core/plan/facts.hpp"
#include "core/plan/view.hpp"
#include "core/settings/settings.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::plan {

// What one backend offers, as planning sees it.
struct BackendFacts {
  std::string id;
  std::string library;  // path, for explain
  std::string library_sha256;
  Statement statement;
  std::optional<Probe> probe;       // not probed: not a candidate
  std::optional<Failure> unusable;  // found but not loadable, and why
  bool operator==(const BackendFacts&) const = default;
};

// What the guest puts on between fork and exec, inside the boundary.
struct LandlockRule {
  std::string path;
  bool writable = false;
  bool operator==(const LandlockRule&) const = default;
};
struct Rlimit {
  int resource = 0;  // RLIMIT_*
  std::uint64_t value = 0;
  bool operator==(const Rlimit&) const = default;
};
// What has to be at a path when everything is mounted. Between the look at the machine and the mounts
// another command, still running in a folder that it may write, can exchange what a path names.
struct ViewCheck {
  std::string path;
  std::uint64_t device = 0;  // st_dev and st_ino of what the host has there
  std::uint64_t inode = 0;
  bool same = true;  // that must be there; false: anything but that (it is hidden, masked or private)
  bool operator==(const ViewCheck&) const = default;
};
struct Confinement {
  bool none = false;                     // the node tier: privileges stay too, and nothing below holds but rlimits
  std::string seccomp_profile = "base";  // see guest/seccomp
  bool landlock = true;                  // where the kernel has it
  bool landlock_required = false;        // this kernel has it: without it the command does not start
  std::vector<LandlockRule> landlock_rules;
  std::vector<Rlimit> rlimits;
  std::vector<ViewCheck> view_checks;  // by the guest, before anything else; not shown by explain
};

struct Resources {
  std::optional<double> cpu;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> disk_bytes;
  std::optional<std::uint64_t> pids;
};

struct OutputLimits {
  std::uint64_t cap_bytes = 1024UL * 1024;  // per stream, head and tail together
  bool spill = false;                       // keep everything in a file of the state folder
};

struct NetworkPolicy {
  std::string mode = "none";  // none, filtered, full: in force
  std::vector<std::string> allowed_domains;
  std::vector<std::string> denied_domains;
};

// A script whose shell takes over the state of the one before it in the same environment and hands its own on.
struct ShellRun {
  std::string script;
  bool cwd_given = false;                    // the plan's cwd is the request's, so it wins over the one handed on
  std::vector<std::string> given_variables;  // names of the request's own, which win as well
  bool refuse_when_busy = false;             // while another one runs; else this one waits for its turn
};

struct Candidate {
  std::string backend;
  std::optional<Failure> rejected;  // why it can't carry this request
};

// The chosen backend can't be used, and the plan is for a weaker place that a person has to agree to.
struct Degraded {
  std::string wanted;             // the backend
  Failure reason;                 // why it can't be used
  std::vector<std::string> lost;  // protections that it has and the weaker place has not, in words
};

struct Plan {
  std::string tier;     // sandbox or node (gateway is refused as unsupported until it exists)
  std::string backend;  // id; "local" in the node tier
  std::string backend_library;
  std::string backend_library_sha256;
  std::string profile;
  std::string session;
  // One that other programs can join, and that outlives this one.
  bool has_named_session() const { return persistent && !session.empty(); }
  bool persistent = false;

  bool builtin = false;                            // argv names a command that the guest itself is
  std::vector<std::string> argv;                   // final: shell requests are ["/bin/sh","-c",script]
  bool script = false;                             // argv is that of a shell request
  std::string cwd;                                 // inside the environment
  std::map<std::string, std::string> environment;  // complete
  std::vector<std::string> removed_environment;    // names that were withheld
  bool tty = false;
  std::optional<ShellRun> shell;  // set: argv is how it runs where no state can be handed on

  std::string workspace;
  std::string workspace_mode = "direct";
  std::string workspace_copy;  // with mode copy: the folder that is there in the workspace's place; made before open
  View view;
  bool view_carried_out = true;  // false: the backend can't, and best_effort accepts that
  NetworkPolicy network;
  Confinement confinement;
  Resources resources;
  OutputLimits output;
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds kill_grace{2000};
  std::chrono::milliseconds idle_timeout{300'000};     // of an environment that lasts, from its last command's end
  std::chrono::milliseconds max_lifetime{86'400'000};  // of such an environment
  std::string image;
  nlohmann::json backend_settings = nlohmann::json::object();
  std::vector<std::string> secret_backend_settings;  // names in it whose values are never shown

  GuestEntry guest = GuestEntry::none;
  std::vector<SettingReport> settings;  // requested / effective / grade / enforced_by
  std::vector<std::string> isolation;   // what will be in force, in words
  std::vector<Candidate> candidates;    // in order of preference; the chosen one has no rejection
  std::string on_unavailable;           // closed, ask, open
  std::optional<Degraded> degraded;     // with on_unavailable `ask` only
  std::vector<std::string> fallback;
  std::vector<std::string> warnings;
};

struct PlanInput {
  const Request& request;
  const settings::Settings& settings;
  const std::vector<BackendFacts>& backends;
  const Facts& facts;
  bool can_ask = false;          // somebody can be asked about a weaker place
  bool single_run = false;       // there will be no other run beside this one: nothing lasts beyond it
  bool builtin = false;          // the request's argv names a command that the guest itself is: files in and out
  std::string workspace_copy{};  // where the copy of workspace.mode copy lies, or will
};

// Pure. A failure has phase plan and names the setting concerned.
Result<Plan> make_plan(const PlanInput& input);

// The document handed to a backend's open (schema: `exechost schema open`). `name`, `labels`
// and `deadline_ns` come from the ledger and the execution.
struct OpenIdentity {
  std::string id;
  std::string name;
  std::map<std::string, std::string> labels;
  std::int64_t deadline_ns = INT64_MAX;
  std::string guest_path;  // the host's path of exechost-guest
};
nlohmann::json open_document(const Plan& plan, const OpenIdentity& identity);

nlohmann::json to_json(const Plan& plan);
std::string to_text(const Plan& plan);  // for a person

}  // namespace exechost::plan

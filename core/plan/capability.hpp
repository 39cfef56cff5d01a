// What a backend says it can do and how strongly (static, from its manifest), what
// its probe found on this machine, and the two put together.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::plan {

// From weak to strong, so that a smaller value is never a better promise. Unknown or absent
// reads as unsupported.
enum class Grade { unsupported, advisory, emulated, provider, kernel };
std::string_view to_string(Grade grade);
Grade grade_from(std::string_view name);

struct Capability {
  Grade grade = Grade::unsupported;
  std::string by;        // the layer, in words
  std::string evidence;  // what the probe saw, or why the capability is missing
  bool operator==(const Capability&) const = default;
};

// The backend that is no plugin and isolates nothing: plain processes of this host, the node tier.
inline constexpr std::string_view kLocalBackend = "local";
// The gateway tier's, which is this process.
inline constexpr std::string_view kGatewayBackend = "gateway";

// The names a statement may use; anything else in a manifest is an error.
//   files syscalls processes users network.none network.filtered network.full
//   image cpu memory disk pids persistent
//   stdin pty signals resize copy attach snapshot tree_kill
const std::vector<std::string_view>& capability_names();

enum class GuestEntry { none, control_fd, stream };  // how our guest gets in

struct Statement {
  std::string backend;
  std::string boundary;  // none, process, container, vm, remote_host
  std::string locality;  // local, remote
  GuestEntry guest = GuestEntry::none;
  std::vector<std::string> platforms;
  std::map<std::string, Capability, std::less<>> capabilities;

  // The capability, or an unsupported one that says so.
  Capability capability(std::string_view name) const;
  bool operator==(const Statement&) const = default;
};

// Parses the "capabilities" document of a manifest (schema: `exechost schema capability`).
Result<Statement> parse_statement(std::string_view backend, const nlohmann::json& document);

struct Probe {
  bool ready = false;
  std::string reason;  // why not ready
  std::string hint;    // what to do about it
  std::map<std::string, Capability, std::less<>> capabilities;
  bool operator==(const Probe&) const = default;
};
Result<Probe> parse_probe(std::string_view backend, const nlohmann::json& document);

// The weaker of both for every capability; evidence from the probe.
Statement combine(const Statement& statement, const Probe& probe);
nlohmann::json to_json(const Statement& statement);

}  // namespace exechost::plan

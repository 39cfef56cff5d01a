// The manifest beside a plugin's library (docker.so, docker.json). Reading it runs no
// plugin code.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/plan/capability.hpp"
#include "exechost/failure.hpp"

namespace exechost::plugin {

struct Manifest {
  std::string id;
  std::string version;
  std::string summary;
  unsigned abi_major = 0;
  unsigned abi_minor = 0;
  plan::Statement statement;
  nlohmann::json settings_schema;  // of the plugin's own settings; each property may name "x-env"
};

// Whether a plugin may be named so. It becomes a file name, a setting's name and part of a variable's name
// (TERMINAL_<ID>_...).
inline constexpr std::size_t kMaxId = 48;
bool is_id(std::string_view id);

// The document, every member required unless said otherwise, no others allowed:
//   {"schema": 1, "id": "...", "version": "1.2.3", "summary": "...", "abi": {"major": 1, "minor": 0},
//    "capabilities": {...}       plan::parse_statement,
//    "settings_schema": {...}    of "type": "object", in the subset of settings/json_schema.hpp,
//    "license", "vendor", "homepage": "..."   optional}
//
// `unavailable` naming file and rule: missing, not trusted (trust.hpp), too large (64 KiB), not
// JSON, unknown or missing members, other ABI major, unsupported schema keywords, id unlike the
// file's name.
Result<Manifest> read_manifest(const std::string& path);
Result<Manifest> parse_manifest(std::string_view text, const std::string& path);

}  // namespace exechost::plugin

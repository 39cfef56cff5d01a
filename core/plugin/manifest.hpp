// The manifest beside a plugin's library (docker.so, docker.json). Reading it runs no
// plugin code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

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

// `unavailable` naming file and rule: missing, too large (64 KiB), not JSON, unknown or
// missing members, unsupported schema keywords, id unlike the file's name.
Result<Manifest> read_manifest(const std::string& path);
Result<Manifest> parse_manifest(std::string_view text, const std::string& path);

}  // namespace exechost::plugin

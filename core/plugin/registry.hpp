// Finds plugins: NAME.so with NAME.json in the plugin folders. Nothing is loaded here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plugin/manifest.hpp"

namespace exechost::plugin {

struct Found {
  std::string id;
  std::string library;  // absolute path
  std::string manifest_path;
  std::optional<Manifest> manifest;
  std::optional<Failure> problem;  // why it can't be used: bad manifest, untrusted file, duplicate id
  std::string sha256;              // of the library, lower-case hex
};

// The same for one library: its file name decides its id and manifest.
Found inspect_plugin(const std::string& library);

// Looks through the folders in order, files sorted by name. A plugin whose file, manifest or
// any folder above is not root's or the effective user's, or is writable by others, is listed
// with its problem. Two files with one id: both get a problem naming the other. A
// folder that is missing is skipped.
std::vector<Found> find_plugins(const std::vector<std::string>& folders);

}  // namespace exechost::plugin

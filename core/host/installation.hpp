// Where ExecHost's own programs and plugins are, found from where this program or library is:
// PREFIX/bin/exechost, PREFIX/lib/libexechost.so, PREFIX/libexec/exechost/exechost-keeper and
// exechost-guest, PREFIX/lib/exechost/plugins/*.so. The build tree has the same layout.
#pragma once

#include <string>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::host {

struct Installation {
  std::string prefix;
  std::string keeper_program;
  std::string guest_program;
  std::vector<std::string> plugin_folders;
};

// `prefix` empty: found from the location of the code. `unavailable` when the guest is missing.
Result<Installation> find_installation(const std::string& prefix = {});

}  // namespace exechost::host

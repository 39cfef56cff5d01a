#include "core/node/statement.hpp"

namespace exechost::node {

plan::Statement statement() {
  plan::Statement local;
  local.backend = plan::kLocalBackend;
  local.boundary = "none";
  local.locality = "local";
  local.guest = plan::GuestEntry::control_fd;
  local.platforms = {"linux"};
  const auto kernel = [&local](const char* name, const char* by) {
    local.capabilities[name] = {plan::Grade::kernel, by, ""};
  };
  kernel("network.full", "this machine's network");
  kernel("persistent", "guest");
  kernel("stdin", "pipes");
  kernel("pty", "terminal");
  kernel("resize", "terminal");
  kernel("signals", "guest");
  kernel("tree_kill", "cgroup.kill");
  return local;
}

}  // namespace exechost::node

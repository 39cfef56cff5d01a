#include "core/gateway/statement.hpp"

namespace exechost::gateway {

plan::Statement statement() {
  plan::Statement inside;
  inside.backend = plan::kGatewayBackend;
  inside.boundary = "none";
  inside.locality = "local";
  inside.guest = plan::GuestEntry::none;
  inside.platforms = {"linux"};
  const auto kernel = [&inside](const char* name, const char* by) {
    inside.capabilities[name] = {plan::Grade::kernel, by, ""};
  };
  kernel("files", "openat2 beneath the workspace");
  kernel("network.none", "no command is started");
  kernel("processes", "no command is started");
  kernel("tree_kill", "no command is started");
  inside.capabilities["stdin"] = {plan::Grade::emulated, "bytes that are given with the request", ""};
  return inside;
}

plan::Probe probe() {
  plan::Probe ready;
  ready.ready = true;
  ready.capabilities = statement().capabilities;
  return ready;
}

}  // namespace exechost::gateway

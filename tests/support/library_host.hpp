// An ExecHost as a framework would make it, in a scene of the account that runs the test.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>

#include "exechost/host.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {

// Never null: every account can be itself.
inline std::unique_ptr<Scene> own_scene() {
  std::string why_not;
  return Scene::make(geteuid() == 0 ? "root" : "user", Place::var_tmp, why_not);
}

inline HostOptions host_options(const Scene& scene, KeeperPlacement placement) {
  HostOptions options;
  options.keeper = placement;
  options.workspace = scene.workspace();
  options.environment = scene.cli({}).env;
  options.prefix = test_prefix();
  return options;
}

inline Request shell_request(std::string script) {
  Request request;
  request.shell = std::move(script);
  return request;
}

// A script that is a command like any other: nothing of it is a session's state, and many run at once.
inline Request sh_request(std::string script) {
  Request request;
  request.argv = {"/bin/sh", "-c", std::move(script)};
  return request;
}

}  // namespace exechost::test

// An ExecHost that runs commands in a mutant.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "exechost/host.hpp"
#include "tests/unit/execution/host_support.hpp"

namespace mutants {

// A mutant isolates nothing, and says so: every shortcoming is accepted.
inline nlohmann::json settings_for(const std::string& backend, nlohmann::json own) {
  return {{"backend", backend},
          {"fallback", nlohmann::json::array()},
          {"best_effort", {"*"}},
          {"plugins", {{"directories", {EXECHOST_MUTANT_FOLDER}}}},
          {"backends", {{backend, std::move(own)}}}};
}

class MutantScene : public exechost::test::HostScene {
 public:
  MutantScene() : HostScene(exechost::KeeperPlacement::in_process) {}

  static exechost::Request in_mutant(const std::string& backend, exechost::Request request, nlohmann::json own) {
    nlohmann::json settings = settings_for(backend, std::move(own));
    if (!request.settings_json.empty()) settings.merge_patch(nlohmann::json::parse(request.settings_json));
    request.settings_json = settings.dump();
    return request;
  }
  exechost::ExecResult run(const std::string& backend, exechost::Request request, nlohmann::json own) const {
    exechost::ExecHost host(options);
    return host.run(in_mutant(backend, std::move(request), std::move(own)));
  }
  // Empty, or why no mutant can start anything on this machine.
  std::string problem() const {
    const exechost::ExecResult result = run("mutant_direct", exechost::test::shell("true"), {{"fault", "none"}});
    return result.failure ? describe(*result.failure) : "";
  }
};

}  // namespace mutants

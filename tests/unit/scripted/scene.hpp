// An ExecHost whose backend follows a script.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "exechost/host.hpp"
#include "tests/unit/execution/host_support.hpp"

namespace exechost::test {

class ScriptedScene : public HostScene {
 public:
  explicit ScriptedScene(KeeperPlacement placement = KeeperPlacement::in_process) : HostScene(placement) {}

  // Commands from now on run by this script, in a backend of their own.
  void play(nlohmann::json script) {
    script_ = std::move(script);
    host_.emplace(options);
  }
  Request request(Request request) const {
    nlohmann::json settings{{"backend", "scripted"},
                            {"fallback", nlohmann::json::array()},
                            {"best_effort", {"*"}},
                            {"plugins", {{"directories", {EXECHOST_SCRIPTED_FOLDER}}}},
                            {"backends", {{"scripted", {{"script", script_}}}}}};
    if (!request.settings_json.empty()) settings.merge_patch(nlohmann::json::parse(request.settings_json));
    request.settings_json = settings.dump();
    return request;
  }
  ExecResult run(Request command) { return host_->run(request(std::move(command))); }
  ExecResult run(const std::string& command = "echo out; exit 3") { return run(shell(command)); }
  ExecHost& host() { return *host_; }

 private:
  nlohmann::json script_;
  std::optional<ExecHost> host_;
};

inline nlohmann::json rules(nlohmann::json rule) { return {{"rules", nlohmann::json::array({std::move(rule)})}}; }

}  // namespace exechost::test

// The backend: works as plain processes, but for what the script says.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "exechost/backend.hpp"
#include "player.hpp"
#include "script.hpp"

namespace scripted {

// What backend and environments have in common.
struct Stage {
  Stage(exechost::sdk::Host its_host, Script its_script) : host(its_host), script(std::move(its_script)) {}

  exechost::sdk::Host host;
  Script script;
  Counts counts;

  const Rule* next(Point at) { return script.rule_for(at, counts.next(at)); }
};

class ScriptedEnvironment final : public exechost::sdk::Environment {
 public:
  explicit ScriptedEnvironment(std::shared_ptr<Stage> stage) : stage_(std::move(stage)) {}

  exechost::sdk::Outcome<std::unique_ptr<exechost::sdk::Execution>> spawn(const exechost::sdk::SpawnRequest& request,
                                                                          const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<void> close(bool purge, const exechost::sdk::Call& call) override;

 private:
  const Rule* next(Point at);

  std::shared_ptr<Stage> stage_;
  Counts counts_;
};

class ScriptedBackend final : public exechost::sdk::Backend {
 public:
  static exechost::sdk::Outcome<std::unique_ptr<exechost::sdk::Backend>> create(exechost::sdk::Host host,
                                                                                std::string_view settings,
                                                                                const exechost::sdk::Call& call);
  explicit ScriptedBackend(std::shared_ptr<Stage> stage) : stage_(std::move(stage)) {}

  exechost::sdk::Outcome<std::string> probe(const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<exechost::sdk::Opened> open(std::string_view document,
                                                     const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<void> reap(std::string_view entry, const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<std::string> list(const exechost::sdk::Call& call) override;

 private:
  std::shared_ptr<Stage> stage_;
};

}  // namespace scripted

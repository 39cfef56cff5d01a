// One open environment of a mutant.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exechost/backend.hpp"
#include "tests/mutants/execution.hpp"
#include "tests/mutants/faults.hpp"
#include "tests/mutants/resources.hpp"
#include "tests/mutants/variant.hpp"

namespace mutants {

class MutantEnvironment final : public exechost::sdk::Environment {
 public:
  struct Parts {
    exechost::sdk::Host host;
    Variant variant;
    Fault fault;
    Resources resources;
    nlohmann::json document;
  };
  explicit MutantEnvironment(Parts parts) : parts_(std::move(parts)) {}

  exechost::sdk::Outcome<std::unique_ptr<exechost::sdk::Execution>> spawn(const exechost::sdk::SpawnRequest& request,
                                                                          const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<void> close(bool purge, const exechost::sdk::Call& call) override;

 private:
  std::optional<exechost::sdk::Failure> misbehave(const exechost::sdk::Call& call);
  std::vector<std::string> limits() const;
  void hold(int fd);

  Parts parts_;
  std::atomic<unsigned> spawned_ = 0;
  std::shared_ptr<Siblings> siblings_ = std::make_shared<Siblings>();
  std::mutex mutex_;
  std::vector<exechost::sdk::Fd> held_;  // guarded by mutex_
};

}  // namespace mutants

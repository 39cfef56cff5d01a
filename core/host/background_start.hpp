// Starts a command of a named session that goes on without this host: environment, spawn, and no more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/keeper/messages.hpp"
#include "exechost/exec_result.hpp"

namespace exechost::host {

struct BackgroundWish {
  std::string id;
  bool input = false;
};

// On the reactor's thread.
class BackgroundStart : public std::enable_shared_from_this<BackgroundStart> {
 public:
  BackgroundStart(std::shared_ptr<environment::KeeperPort> keeper,
                  std::shared_ptr<environment::EnvironmentSource> environments,
                  environment::EnvironmentRequest environment, BackgroundWish wish, std::int64_t deadline_ns);

  // `done` is called once: with a failure, or with `started` yes. What becomes of it then is the keeper's to tell.
  void begin(std::function<void(ExecResult)> done);
  bool environment_was_there() const { return lease_ && lease_->reused; }

 private:
  void acquired(environment::Acquired acquired);
  void heard(const keeper::ExecutionEvent& event);
  void finish(environment::Release how);

  const std::shared_ptr<environment::KeeperPort> keeper_;
  const std::shared_ptr<environment::EnvironmentSource> environments_;
  const environment::EnvironmentRequest wanted_;
  const BackgroundWish wish_;
  const std::int64_t deadline_ns_;
  std::optional<environment::Lease> lease_;
  ExecResult result_;
  std::function<void(ExecResult)> done_;
};

}  // namespace exechost::host

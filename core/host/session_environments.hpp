// The environments that the runs of one ExecHost share, for each of its keepers.
#pragma once

#include <memory>
#include <vector>

#include "core/base/reactor.hpp"
#include "core/environment/environment_source.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/environment/shared.hpp"

namespace exechost::host {

// Destroyed before the keepers, while the reactor runs.
class SessionEnvironments {
 public:
  explicit SessionEnvironments(Reactor& reactor) : reactor_(reactor) {}
  ~SessionEnvironments();  // not on the reactor's thread
  SessionEnvironments(const SessionEnvironments&) = delete;
  SessionEnvironments& operator=(const SessionEnvironments&) = delete;

  // [reactor]
  std::shared_ptr<environment::EnvironmentSource> of(const std::shared_ptr<environment::KeeperPort>& keeper);

 private:
  struct Kept {
    std::weak_ptr<environment::KeeperPort> keeper;
    std::shared_ptr<environment::EnvironmentSource> environments;
  };
  Reactor& reactor_;
  std::vector<Kept> kept_;                                                                               // [reactor]
  const std::shared_ptr<environment::OpenPlaces> places_ = std::make_shared<environment::OpenPlaces>();  // [reactor]
};

}  // namespace exechost::host

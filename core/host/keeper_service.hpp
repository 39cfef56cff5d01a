// The keeper of one ExecHost: started at first need, and anew after one has died.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/base/reactor.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/host/context.hpp"
#include "exechost/failure.hpp"

namespace exechost::host {

// Safe to use from any thread but the reactor's, which must not wait for a keeper.
class KeeperService {
 public:
  KeeperService(const Context& context, Reactor& reactor);
  // Closes every keeper's socket and waits until they have ended (bounded, see placement.hpp).
  ~KeeperService();
  KeeperService(const KeeperService&) = delete;
  KeeperService& operator=(const KeeperService&) = delete;

  // The keeper to use now: another one when the last has died.
  Result<std::shared_ptr<environment::KeeperPort>> port();
  // The child process that was started last; 0: none, or a thread of this process.
  int pid();

 private:
  struct Generation;
  static bool alive(const Generation& generation);
  Result<std::unique_ptr<Generation>> start();

  const Context& context_;
  Reactor& reactor_;
  std::mutex mutex_;
  std::unique_ptr<Generation> current_;
};

}  // namespace exechost::host

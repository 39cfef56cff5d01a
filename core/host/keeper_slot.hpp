// One keeper: started at first need, and anew after it has died.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/reactor.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/host/crash_history.hpp"
#include "core/keeper/placement.hpp"
#include "exechost/failure.hpp"
#include "exechost/host.hpp"

namespace exechost::host {

struct KeeperStart {
  KeeperPlacement placement = KeeperPlacement::child;
  std::optional<keeper::DetachedPlace> detached;  // set: not this host's own, and `placement` means nothing
  std::string program;
  keeper::KeeperOptions options;
  std::string plugin;  // the one it is there for; empty: for all that have none of their own
};

// Safe to use from any thread but the reactor's, which must not wait for a keeper.
class KeeperSlot {
 public:
  KeeperSlot(Reactor& reactor, KeeperStart how);
  // Closes the keeper's socket and waits until it has ended (bounded, see placement.hpp).
  ~KeeperSlot();
  KeeperSlot(const KeeperSlot&) = delete;
  KeeperSlot& operator=(const KeeperSlot&) = delete;

  // The keeper to use now: another one when the last has died. `unavailable` for a while after the keeper of
  // a single plugin has crashed more than once, and for good after it has crashed again and again.
  Result<std::shared_ptr<environment::KeeperPort>> port();
  // Of the child process; 0: none, or a thread of this process.
  int pid();

 private:
  struct Generation;
  static bool alive(const Generation& generation);
  std::optional<Failure> refusal() const;
  Result<std::unique_ptr<Generation>> start();

  Reactor& reactor_;
  KeeperStart how_;
  std::mutex mutex_;
  std::unique_ptr<Generation> current_;
  CrashHistory crashes_;
};

}  // namespace exechost::host

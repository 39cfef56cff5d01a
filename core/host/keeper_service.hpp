// The keepers of one ExecHost: one for ExecHost's own plugins, where the host wants it, and for each plugin
// of a third party a process of its own, whose crash is nobody else's.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/reactor.hpp"
#include "core/environment/keeper_port.hpp"
#include "core/host/context.hpp"
#include "core/host/keeper_slot.hpp"
#include "core/keeper/messages.hpp"
#include "exechost/failure.hpp"

namespace exechost::host {

// Safe to use from any thread but the reactor's, which must not wait for a keeper.
class KeeperService {
 public:
  // The context has an installation by the time that a keeper is asked for.
  KeeperService(const Context& context, Reactor& reactor);
  // Ends every keeper and waits for that (bounded, see placement.hpp).
  ~KeeperService();
  KeeperService(const KeeperService&) = delete;
  KeeperService& operator=(const KeeperService&) = delete;

  // The keeper to use for this plugin now; failures as KeeperSlot::port. `named`: the detached one of this user, which
  // has the named sessions.
  Result<std::shared_ptr<environment::KeeperPort>> port(const keeper::PluginChoice& plugin, bool named);
  // Of its process; 0: none, or a thread of this process.
  int pid(const keeper::PluginChoice& plugin);

 private:
  bool runs_alone(const keeper::PluginChoice& plugin) const;
  KeeperSlot& slot(const keeper::PluginChoice& plugin, bool named);

  const Context& context_;
  Reactor& reactor_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<KeeperSlot>> slots_;        // by library; "": the shared one. Never removed
  std::map<std::string, std::unique_ptr<KeeperSlot>> named_slots_;  // the same for the detached ones
};

}  // namespace exechost::host

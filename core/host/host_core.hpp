// The parts of an ExecHost that outlive a request: reactor and keeper (made at first need), what
// is known about plugins, and the planner over them.
#pragma once

#include <future>
#include <memory>
#include <mutex>

#include "core/admission/gate.hpp"
#include "core/base/reactor.hpp"
#include "core/host/context.hpp"
#include "core/host/keeper_service.hpp"
#include "core/host/planner.hpp"
#include "core/host/plugin_catalog.hpp"
#include "core/host/probe_cache.hpp"
#include "core/host/session_environments.hpp"
#include "core/keeper/worker_pool.hpp"
#include "exechost/host.hpp"

namespace exechost::host {

// Safe to use from any thread. Destroyed only after everything it started has ended.
class HostCore {
 public:
  explicit HostCore(const HostOptions& options);
  HostCore(const HostCore&) = delete;
  HostCore& operator=(const HostCore&) = delete;

  const Context& context() const { return context_; }
  Planner& planner() { return planner_; }
  admission::Gate& gate() { return gate_; }
  ProbeCache& probes() { return probes_; }
  // Fails when this process can't open what a command needs. Afterwards there is a reactor.
  Result<void> ready();
  Reactor& reactor();
  // Not on the reactor thread: starting a keeper takes time.
  // `named`: the one that has the named sessions.
  Result<std::shared_ptr<environment::KeeperPort>> keeper(const keeper::PluginChoice& plugin, bool named = false);
  // Of the process of that keeper; 0: none, or it is a thread of this process.
  int keeper_pid(const keeper::PluginChoice& plugin) { return engine().keepers.pid(plugin); }
  SessionEnvironments& session_environments() { return engine().environments; }
  // For operations of the gateway tier, which may wait for a disk.
  keeper::WorkerPool& workers() { return engine().workers; }
  // Whether this is the reactor's thread, where nothing may wait (an output callback's).
  bool on_reactor_thread();

 private:
  struct Engine {
    explicit Engine(const Context& context) : keepers(context, reactor), environments(reactor) {}
    Reactor reactor;
    KeeperService keepers;
    keeper::WorkerPool workers;
    SessionEnvironments environments;  // goes first
  };
  Engine& engine();
  std::future<ProbeCache::Outcome> begin_probe(const keeper::PluginChoice& choice);

  Context context_;
  PluginCatalog catalog_;
  ProbeCache probes_;
  Planner planner_;
  std::mutex mutex_;
  std::unique_ptr<Engine> engine_;
  admission::Gate gate_;  // last: what it still has to say goes to the engine's reactor
};

}  // namespace exechost::host

// Loaded plugins and the backends made from them: one per plugin file and settings, kept until
// the keeper ends.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/keeper/host_services.hpp"
#include "core/keeper/messages.hpp"
#include "core/keeper/plugin_call.hpp"
#include "core/plugin/loader.hpp"

namespace exechost::keeper {

class Backend {
 public:
  // `plugin`: null for the one that is part of the keeper.
  Backend(std::shared_ptr<const plugin::LoadedPlugin> plugin, const eh_backend* table, std::string id)
      : plugin_(std::move(plugin)), table_(table), id_(std::move(id)) {}
  ~Backend() { table_->destroy(table_->self); }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  const eh_backend* table() const { return table_; }
  const std::string& id() const { return id_; }

 private:
  std::shared_ptr<const plugin::LoadedPlugin> plugin_;
  const eh_backend* table_;
  std::string id_;
};

class Backends {
 public:
  explicit Backends(HostServices& services) : services_(services) {}

  // Loads and creates at first need. Two calls for the same one wait for each other, and create
  // never runs twice at a time in one library. Blocks. [any thread]
  // The result's status is ok exactly when `backend` is set.
  CallResult get(const PluginChoice& choice, const plugin::CallLimits& limits, std::shared_ptr<Backend>& backend);

  // Destroys all backends; their environments must be closed.
  void clear();

 private:
  struct Library {
    std::mutex mutex;
    std::shared_ptr<const plugin::LoadedPlugin> plugin;        // guarded by mutex
    std::map<std::string, std::shared_ptr<Backend>> backends;  // by settings; guarded by mutex
  };
  using Create = decltype(eh_plugin::create);
  CallResult create(const PluginChoice& choice, Create create, const plugin::CallLimits& limits, Library& library,
                    std::shared_ptr<Backend>& backend);

  HostServices& services_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Library>> libraries_;  // guarded by mutex_
};

}  // namespace exechost::keeper

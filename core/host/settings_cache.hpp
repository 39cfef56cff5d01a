// Settings that were resolved before, for requests with the same sources: checking and merging them
// takes longer than everything else before a command starts.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "core/host/plugin_catalog.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"

namespace exechost::host {

// Safe to use from any thread. One environment only: that of its ExecHost.
class SettingsCache {
 public:
  static constexpr std::size_t kKept = 16;

  // As settings::resolve; `sources.plugins` is filled in here, from `plugins`.
  Result<std::shared_ptr<const settings::Settings>> resolve(settings::Sources& sources,
                                                            const PluginCatalog::List& plugins);

 private:
  struct Entry {
    std::vector<settings::Document> files;
    nlohmann::json request;
    std::map<std::string, std::string> request_sources;
    PluginCatalog::List plugins;
    std::shared_ptr<const settings::Settings> settings;
  };
  std::mutex mutex_;
  std::deque<Entry> entries_;  // the latest first
};

}  // namespace exechost::host

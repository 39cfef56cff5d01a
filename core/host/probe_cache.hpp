// What backends' probes said, remembered for a while when they were ready.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/keeper/messages.hpp"
#include "core/plan/capability.hpp"
#include "exechost/failure.hpp"

namespace exechost::host {

// Safe to use from any thread. However many runs ask at the same time, one probe is made.
class ProbeCache {
 public:
  using Outcome = Result<plan::Probe>;
  // Begins one probe.
  using Prober = std::function<std::future<Outcome>(const keeper::PluginChoice&)>;
  static constexpr std::chrono::seconds kFresh{60};
  // A probe takes 2 s at most, and 2 s more to stop (the plugin contract).
  static constexpr std::chrono::seconds kProbe{2};
  static constexpr std::chrono::seconds kPatience{6};

  explicit ProbeCache(Prober prober) : prober_(std::move(prober)) {}

  // One outcome per choice, probed side by side.
  std::vector<Outcome> get(const std::vector<keeper::PluginChoice>& choices);

 private:
  struct Entry {
    std::shared_future<Outcome> outcome;
    std::chrono::steady_clock::time_point made;
  };
  using Key = std::string;
  Entry begin(const Key& key, const keeper::PluginChoice& choice);
  Outcome wait(const Key& key, const Entry& entry, const std::string& backend);

  Prober prober_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by plugin, library and its settings
};

}  // namespace exechost::host

// The plugins that are installed, looked up once in a while: reading manifests and hashing
// libraries for every run would cost more than the run.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/plugin/registry.hpp"

namespace exechost::host {

// Safe to use from any thread. What it remembers is for planning; the keeper checks a library
// again when it loads it.
class PluginCatalog {
 public:
  using List = std::shared_ptr<const std::vector<plugin::Found>>;
  static constexpr std::chrono::seconds kFresh{30};

  List find(const std::vector<std::string>& folders);

 private:
  std::mutex mutex_;
  std::vector<std::string> folders_;
  List list_;
  std::chrono::steady_clock::time_point looked_;
};

}  // namespace exechost::host

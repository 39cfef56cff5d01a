// What a plugin gets from its host (eh_host): log, secrets, processes, time. Processes are started
// on the loop's thread whoever asks.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/keeper/event_loop.hpp"
#include "core/keeper/process_launcher.hpp"
#include "exechost/plugin.h"

namespace exechost::keeper {

class HostServices {
 public:
  // Both outlive this object. The table stays valid as long as it.
  HostServices(EventLoop& loop, ProcessLauncher& launcher);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;
  const eh_host* table() const { return &table_; }

  // For the table's functions. [any thread]
  Result<eh_process> spawn(ProcessSpec spec);
  std::shared_ptr<Process> find(eh_process process);
  void release(eh_process process);

 private:
  EventLoop& loop_;
  ProcessLauncher& launcher_;
  eh_host table_{};
  std::mutex mutex_;
  std::map<eh_process, std::shared_ptr<Process>> processes_;  // guarded by mutex_
  eh_process next_ = 1;                                       // guarded by mutex_
};

}  // namespace exechost::keeper

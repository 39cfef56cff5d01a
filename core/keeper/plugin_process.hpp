// A process that a plugin's spawn has started.
#pragma once

#include <string>

#include "core/keeper/started_process.hpp"
#include "exechost/plugin.h"

namespace exechost::keeper {

class PluginProcess final : public StartedProcess {
 public:
  // `table` is whole; released at the latest with this object.
  PluginProcess(const eh_execution* table, int event_fd, std::string backend)
      : table_(table), event_fd_(event_fd), backend_(std::move(backend)) {}
  ~PluginProcess() override { release(); }
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  int event_fd() const override { return event_fd_; }
  ProcessNews news() override;
  void signal(int number) override;
  void release() override;

 private:
  ProcessNews broken(const std::string& what) const;

  const eh_execution* table_;  // null: released
  int event_fd_;
  std::string backend_;
  bool started_ = false;
};

}  // namespace exechost::keeper

// One command of a guest that serves many: what the serving guest says about it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/base/unique_fd.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/started_process.hpp"

namespace exechost::keeper {

class CommandServer;

class ServedProcess final : public StartedProcess {
 public:
  ServedProcess(std::shared_ptr<EventLoop> loop, std::weak_ptr<CommandServer> server, std::int32_t number,
                UniqueFd event)
      : loop_(std::move(loop)), server_(std::move(server)), number_(number), event_(std::move(event)) {}

  std::int32_t number() const { return number_; }
  // Its last news; later ones are ignored. [any]
  void conclude(ProcessNews news);

  int event_fd() const override { return event_.get(); }
  ProcessNews news() override;
  void signal(int number) override;
  void release() override;

 private:
  const std::shared_ptr<EventLoop> loop_;
  const std::weak_ptr<CommandServer> server_;
  const std::int32_t number_;
  const UniqueFd event_;  // an eventfd
  std::mutex mutex_;
  ProcessNews news_;  // guarded by mutex_
};

}  // namespace exechost::keeper

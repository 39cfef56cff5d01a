// A running child behind its pidfd.
#pragma once

#include <sys/types.h>

#include <mutex>

#include "core/base/unique_fd.hpp"
#include "core/keeper/process_launcher.hpp"

namespace exechost::keeper {

class ChildProcess final : public Process {
 public:
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  ~ChildProcess() override;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const override { return pid_; }
  int pidfd() const override { return pidfd_.get(); }
  ProcessState try_wait(int& wait_status) override;
  Result<void> signal(int number) override;

 private:
  pid_t pid_;
  UniqueFd pidfd_;
  std::mutex mutex_;
  ProcessState state_ = ProcessState::running;
  int wait_status_ = 0;
};

}  // namespace exechost::keeper

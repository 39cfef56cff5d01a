// The processes that a serving guest has forked to supervise one command each, and what they leave behind.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "guest/exec/children.hpp"
#include "guest/outcome.hpp"
#include "guest/protocol.hpp"
#include "guest/serve/command_cgroups.hpp"
#include "guest/serve/executions.hpp"

namespace exechost::guest {

// Hears of each end, once.
class OverHandler {
 public:
  // `wait_status`: of the supervisor. `error`: 0: nothing of the command is left.
  virtual void over(std::int32_t number, int wait_status, int error) = 0;

 protected:
  ~OverHandler() = default;
};

class Supervisors {
 public:
  // `cgroups`: what the paths of the commands' cgroups begin with; null: they have none.
  explicit Supervisors(const char* cgroups = nullptr) : cgroups_(cgroups) {}

  // Call before confinement, which may hide /proc: what a supervisor leaves has to come here.
  Outcome prepare();

  // Where this process holds descriptors of each command: as many as it may have. Commands keep the limit there was.
  void raise_descriptor_limit();

  // Forks one, which takes over these descriptors (its control socket, the command's streams and what its specification
  // places beside them; at least kRunDescriptors, at most kMostRunDescriptors) and keeps nothing else that is open
  // here. 0, or why there is none: EAGAIN: no room, or that number is in use.
  int start(std::int32_t number, const int* descriptors, int count, const Message& confined);
  // A supervisor that does not do it itself: what it leaves comes to this process.
  void end(std::int32_t number);

  // Takes note of processes that ended; call when SIGCHLD came, and when timeout_ms() has passed. Bounded.
  void reap(int signal_fd, OverHandler& handler);
  // Until reap() has to be called anyway; -1: not before a signal.
  int timeout_ms() const;

  // As process 1 the namespace ends with it anyway, but then nobody would have waited for it. False: something is left.
  bool end_everything();

 private:
  void ended(ServedExecution& execution, int status, OverHandler& handler);
  void end_orphans(OverHandler& handler);
  bool end_cgroups();

  ChildList children_;
  rlimit descriptor_limit_{};  // of commands, when `limit_raised_`
  bool limit_raised_ = false;
  Executions executions_;
  CommandCgroups cgroups_;
  bool more_to_reap_ = false;
  long orphans_until_ = 0;  // 0: none are looked for
};

// CLOCK_MONOTONIC.
long now_ms();

}  // namespace exechost::guest

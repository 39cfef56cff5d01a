// Kills everything that the command has started.
#pragma once

#include <sys/types.h>

namespace exechost::guest {

// As process 1 of a PID namespace: one kill for all, atomic in the kernel. Elsewhere the guest is
// a child subreaper: orphans become its own children, round after round, until none is left; a
// fork bomb without a process limit can outrun that, so it is bounded in time.
class ProcessTree {
 public:
  // Call before confinement: opens what lists our children. As process 1 it needs nothing.
  bool prepare();
  bool is_init() const { return is_init_; }
  // SIGKILL to everything reachable now. `group`: the command's process group. The caller goes on reaping.
  void kill_all(pid_t group) const;
  // Kills and reaps until nothing is left, or `timeout_ms` has passed: then false. The command's
  // main process has been reaped before. SIGCHLD is blocked in the caller.
  bool kill_and_reap(int timeout_ms) const;

 private:
  void kill_children() const;

  bool is_init_ = false;
  int children_fd_ = -1;
};

}  // namespace exechost::guest

// Kills everything that the command has started.
#pragma once

#include <sys/types.h>

#include "guest/exec/cgroup.hpp"
#include "guest/exec/children.hpp"

namespace exechost::guest {

// As process 1 of a PID namespace: one kill for all, atomic in the kernel. Elsewhere the guest is
// a child subreaper: orphans become its own children, round after round, until none is left; a
// fork bomb without a process limit can outrun that, so it is bounded in time. With a cgroup of the
// command's own the kernel kills that first, and the walk finds what has moved out of it.
class ProcessTree {
 public:
  // `cgroup`: path of the command's, or null.
  explicit ProcessTree(const char* cgroup) : cgroup_(cgroup) {}
  // Call before confinement: opens what lists our children. As process 1 it needs nothing. `served`: of one command
  // of a serving guest, which finds what this process can't.
  Outcome prepare(bool served);
  bool is_init() const { return is_init_; }
  // What moved out of the command's group can be found.
  bool sees_children() const { return is_init_ || children_.is_open(); }
  // For the command's process, before its exec.
  Outcome admit() const { return cgroup_.join(); }
  // When nothing is left in it.
  void remove_cgroup() const { cgroup_.remove(); }
  // SIGKILL to everything reachable now. `group`: the command's process group. The caller goes on reaping.
  void kill_all(pid_t group) const;
  // Kills and reaps until nothing is left that is ours, or `timeout_ms` has passed. False: something may be left. The
  // command's main process has been reaped before. SIGCHLD is blocked in the caller.
  bool kill_and_reap(int timeout_ms) const;

 private:
  void kill_children() const;

  Cgroup cgroup_;
  bool is_init_ = false;
  bool adopts_ = true;  // orphans come here
  ChildList children_;
};

}  // namespace exechost::guest

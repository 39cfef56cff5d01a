// The cgroup of one command, where the node tier gives it one: the kernel then kills the whole tree at
// once, new sessions and double forks included, and nothing can fork its way out.
#pragma once

#include "guest/outcome.hpp"

namespace exechost::guest {

// A folder of a cgroup v2 hierarchy. The guest makes it and removes it, so that none is left behind
// when the launcher dies in between; the command is its only member, the guest is not. Without a path
// every call does nothing.
class Cgroup {
 public:
  explicit Cgroup(const char* path) : path_(path) {}
  // Makes it. Before the command is forked.
  Outcome make();
  // For one that another process has made, and may have removed.
  Outcome find();
  bool exists() const { return path_ != nullptr; }
  // Makes the calling process a member; for the command's process before its exec.
  Outcome join() const;
  void kill() const;
  // No living process is a member.
  bool is_empty() const;
  // Once it is empty. The kernel may take a moment to see that, so it is tried a few times.
  void remove() const;
  // True when it is gone.
  bool try_to_remove() const;
  // Closes what is open of it. (A supervisor ends with its only one instead.)
  void let_go();

 private:
  const char* path_;
  int procs_fd_ = -1;
  int kill_fd_ = -1;
  int events_fd_ = -1;
};

}  // namespace exechost::guest

// Watches the command until it ends, passing the keeper's wishes on.
#pragma once

#include "guest/exec/command.hpp"
#include "guest/exec/process_tree.hpp"

namespace exechost::guest {

// How a guest's own exit status reads. The keeper goes by the messages; these are for people.
enum ExitStatus {
  kExitDone = 0,        // the command ran and everything it started is gone
  kExitNotStarted = 1,  // `failed` was sent
  kExitUsage = 2,       // not started by a keeper
  kExitNotProven = 3,   // the command ended but something of it may be left (never as process 1)
};

// `signal_fd`: a non-blocking signalfd for SIGCHLD. Returns when the command has ended, everything
// has been killed and reaped, and the keeper has been told.
int supervise(const StartedCommand& command, const ProcessTree& tree, int signal_fd);

}  // namespace exechost::guest

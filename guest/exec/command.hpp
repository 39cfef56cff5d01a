// Starts the command.
#pragma once

#include <sys/types.h>

#include "guest/exec/process_tree.hpp"
#include "guest/exec/stdio.hpp"
#include "guest/outcome.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

struct StartedCommand {
  pid_t pid = -1;
  // End-of-file: the command's exec succeeded (or it was killed before). An Outcome: it failed.
  int report_fd = -1;
};

// Forks the command into a session and process group of its own (its pid names both), with default
// signal dispositions, an empty signal mask, exactly descriptors 0, 1, 2 and those that the
// specification places, and its limits. All signals must be blocked in the caller. Unless the guest is process 1 it is
// killed when the guest dies.
Outcome start_command(const Spec& spec, const CommandStdio& stdio, const ProcessTree& tree, StartedCommand& command);

}  // namespace exechost::guest

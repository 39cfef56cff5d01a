// Starts the command and ends what is left of it.
#pragma once

#include <sys/types.h>

#include "tests/mutants/runner/options.hpp"
#include "tests/mutants/runner/runner.hpp"

namespace mutants {

// Best effort: whoever reads may be gone.
void report(Report::Kind kind, int value);

// Only in a namespace whose first process we are: there kill(-1) is harmless to everybody else.
bool is_first_process();

// Its process id; reports started or, with -1, not_started.
pid_t start_command(const Options& options);

void send_signal(pid_t command, int number);

// Ends as much of it as told. `command` has not been reaped.
void end_command(pid_t command, Reach reach);

// Ends whatever is our child and waits for it, until there is none: orphans come to us.
void end_children();

}  // namespace mutants

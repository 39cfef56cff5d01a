// `exechost-guest exec`: one command, confined and supervised.
#pragma once

#include "guest/exec/stdio.hpp"

namespace exechost::guest {

// Returns the guest's exit status (supervisor.hpp).
int run_exec_mode(const CommandStdio& stdio);

}  // namespace exechost::guest

// `exechost-guest exec`: one command, confined and supervised.
#pragma once

#include "guest/exec/stdio.hpp"

namespace exechost::guest {

// `cgroup`: path of the command's own, or null. Returns the guest's exit status (supervisor.hpp).
int run_exec_mode(const CommandStdio& stdio, const char* cgroup);

}  // namespace exechost::guest

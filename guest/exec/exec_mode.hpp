// `exechost-guest exec`: one command, confined and supervised.
#pragma once

#include "guest/exec/stdio.hpp"
#include "guest/protocol.hpp"

namespace exechost::guest {

// `cgroup`: path of the command's own, or null. Returns the guest's exit status (supervisor.hpp).
int run_exec_mode(const CommandStdio& stdio, const char* cgroup);

// One command of a `serve` guest, in a process that was forked for it, with its own control socket and
// 0, 1 and 2, and `further` descriptors from kFirstFurtherFd on. `confined`: what the serving guest has put on.
// `cgroup`: as above.
int run_served_command(const Message& confined, int further, const char* cgroup);

}  // namespace exechost::guest

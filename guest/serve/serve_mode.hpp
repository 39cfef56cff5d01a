// `exechost-guest serve`: confined once, then any number of commands, each supervised by a process of its own.
#pragma once

#include "guest/exec/stdio.hpp"

namespace exechost::guest {

// `stdio`: what the launcher gave for a command's streams; there is no command yet, so they are closed.
// `cgroups`: what the paths of its commands' cgroups begin with ("-NUMBER" follows), or null: they have none.
// Returns the guest's exit status (supervisor.hpp) when its control socket has closed and nothing is left.
int run_serve_mode(const CommandStdio& stdio, const char* cgroups);

}  // namespace exechost::guest

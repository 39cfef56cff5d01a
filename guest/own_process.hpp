// What the guest makes of its own process before it does anything else.
#pragma once

namespace exechost::guest {

// Descriptor 3 is a socket of the kind a keeper gives.
bool has_control_socket();

// Same-uid processes can't trace the guest or open its memory and descriptors; the control socket closes at exec.
void protect_process();

// Nothing of what the launcher left behind counts: every disposition is the default (a SIGCHLD
// that is ignored would lose the command's status), every signal is blocked, and only SIGCHLD is
// read. So a signal from inside, SIGTERM or SIGHUP say, does nothing to the guest.
void reset_signals();
// A non-blocking signalfd for SIGCHLD; -1 with errno.
int child_signals();

}  // namespace exechost::guest

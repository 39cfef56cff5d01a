// Giving up privileges: no_new_privs and every capability.
#pragma once

#include "guest/outcome.hpp"

namespace exechost::guest {

// After this, execve can't raise privileges any more: setuid bits and file capabilities are
// ignored, so sudo, mount and ping fail inside. Also what lets an ordinary user install a
// seccomp filter and a Landlock domain.
Outcome set_no_new_privs();

// Empties the bounding, ambient, inheritable, permitted and effective sets and locks the
// securebits, as far as the kernel lets us; fails unless effective and permitted are empty
// afterwards. Without CAP_SETPCAP the bounding set stays as it is: with no_new_privs and empty
// sets nothing can be regained from it.
Outcome drop_capabilities();

}  // namespace exechost::guest

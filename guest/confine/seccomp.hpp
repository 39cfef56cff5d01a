// Installs the system call filter that was compiled at build time (guest/seccomp).
#pragma once

#include "guest/outcome.hpp"

namespace exechost::guest {

// Installs the profile "base" on the calling process and everything it starts. Needs no_new_privs.
Outcome install_seccomp();

}  // namespace exechost::guest

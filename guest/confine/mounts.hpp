// The environment's mounts and the host's.
#pragma once

#include "guest/outcome.hpp"

namespace exechost::guest {

// Makes every mount private, so that what the host mounts later does not appear inside. Only where
// the guest is process 1 of an environment with a user namespace of its own (its mounts are nobody
// else's) and was given the capability; anywhere else it does nothing.
Outcome cut_off_mounts();

}  // namespace exechost::guest

// Whether to go on.
#pragma once

#include "exechost/failure.hpp"
#include "exechost/gateway.hpp"

namespace exechost::gateway {

// `unavailable` with ECANCELED or ETIMEDOUT when it is time to stop.
Result<void> still_wanted(const Patience& patience);

}  // namespace exechost::gateway

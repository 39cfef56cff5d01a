// `exechost-guest serve --stream`: as `serve`, for places where descriptors can't be passed (docs/guest-protocol.md).
#pragma once

#include "guest/exec/stdio.hpp"

namespace exechost::guest {

// `stdio`: frames come in from the first and go out to the second; the third is for a launcher's own words.
// Returns the guest's exit status (supervisor.hpp) when the stream has closed and nothing is left.
int run_stream_mode(const CommandStdio& stdio);

}  // namespace exechost::guest

// Watches over one command from its start until nothing of it is left.
#pragma once

#include "tests/mutants/runner/options.hpp"

namespace mutants {

// Returns when it has ended; every signal has to be blocked before.
void supervise(const Options& options);

}  // namespace mutants

// Faults in how a command's end is told.
#pragma once

#include "tests/mutants/faults.hpp"

namespace mutants {

// What is told instead of `wait_status`.
int told_status(int wait_status, Fault fault);

}  // namespace mutants

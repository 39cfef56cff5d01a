// Faults that the SDK's C++ classes would not let out: tables around theirs, for these faults only.
#pragma once

#include "exechost/plugin.h"
#include "tests/mutants/faults.hpp"

namespace mutants {

// `backend` itself when the fault is none of these.
const eh_backend* with_boundary_fault(const eh_backend* backend, Fault fault);

}  // namespace mutants

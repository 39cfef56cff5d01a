// A place in which a process tree can be ended for certain.
#pragma once

#include "tests/mutants/runner/options.hpp"

namespace mutants {

// For the children that are made from now on. 0 or errno.
int enter_namespaces(const Options& options);

// In the first of them: a /proc that shows its namespace, where the kernel allows one.
void show_own_processes();

}  // namespace mutants

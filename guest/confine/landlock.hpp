// A Landlock domain from the specification's path rules.
#pragma once

#include <cstdint>

#include "guest/outcome.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

// Confines the calling process to the rules, if the specification asks for it and the kernel has
// Landlock; `abi` is then the kernel's ABI version, else 0. Every access right of the ABI is
// refused but for what a rule gives: reading rules give execute, read file and list folder;
// writing rules give everything. From ABI 6 on, abstract Unix sockets and signals to processes
// outside are out of reach too. A rule whose path can't be opened is skipped: that gives less.
// Needs no_new_privs.
Outcome apply_landlock(const Spec& spec, std::uint32_t& abi);

}  // namespace exechost::guest

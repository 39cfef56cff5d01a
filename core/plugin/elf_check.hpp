// Looks at a library's ELF headers before the dynamic loader does.
#pragma once

#include <string>

#include "exechost/failure.hpp"

namespace exechost::plugin {

struct ElfFacts {
  // The library runs code of its own as soon as it is loaded: more than what the compiler puts
  // into every library (one entry of .init_array, frame_dummy).
  bool has_constructors = false;
};

// `unavailable`: not an ELF file, not a shared library of this machine's kind, or shorter than its
// headers say (the dynamic loader would die of SIGBUS).
Result<ElfFacts> check_elf(int fd, const std::string& path);

}  // namespace exechost::plugin

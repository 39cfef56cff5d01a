// The runner's command line.
#pragma once

#include <cstdint>
#include <optional>

namespace mutants {

// How much of a command is ended: everything, its process group, or its own process.
enum class Reach { tree, group, process };

struct Options {
  bool guest = false;                 // --guest: the program is exechost-guest, which becomes process 1
  bool namespaces = false;            // --namespaces: process and mount namespaces
  bool offline = false;               // --offline: a network namespace with nothing in it
  bool rerun = false;                 // --rerun: start it once more when it exits with another status than 0
  std::uint64_t memory = 0;           // --memory=BYTES of address space for each process; 0: no limit
  std::uint64_t cpu_thousandths = 0;  // --cpu=N thousandths of a processor; 0: no limit
  Reach at_end = Reach::tree;         // --at-end=REACH
  Reach on_kill = Reach::tree;        // --on-kill=REACH
  char* const* command = nullptr;     // after "--"
};

// Nothing: the command line is wrong.
std::optional<Options> parse_options(int count, char* const* arguments);

}  // namespace mutants

// Faults in the command's three streams.
#pragma once

#include <memory>
#include <vector>

#include "exechost/backend.hpp"
#include "tests/mutants/faults.hpp"
#include "tests/mutants/relay.hpp"

namespace mutants {

// What the command gets as 0, 1 and 2, and what is between that and the host's.
struct Streams {
  int in = -1;
  int out = -1;
  int err = -1;
  std::vector<exechost::sdk::Fd> owned;  // of in, out and err: to be closed when the command has them
  std::vector<std::unique_ptr<Relay>> relays;
};

exechost::sdk::Outcome<Streams> make_streams(const exechost::sdk::SpawnRequest& request, Fault fault);

}  // namespace mutants

// Starts the runner.
#pragma once

#include <string>
#include <vector>

#include "exechost/backend.hpp"
#include "tests/mutants/command_faults.hpp"
#include "tests/mutants/faults.hpp"

namespace mutants {

// A runner that was started, with our ends of its two pipes.
struct Launched {
  exechost::sdk::Process process;
  exechost::sdk::Fd status;  // never blocks
  exechost::sdk::Fd leash;
};

struct Launch {
  std::string runner;
  std::vector<std::string> options;
  Command command;
  std::vector<int> streams{-1, -1, -1};
  int control = -1;  // >= 0: the command is the guest
  int extra = -1;
};

exechost::sdk::Outcome<Launched> launch(exechost::sdk::Host host, const Launch& what, const exechost::sdk::Call& call);

// The runner's options for how much of a command ends, and when.
std::vector<std::string> reach_options(Fault fault);

}  // namespace mutants

// Faults in what is started: arguments, variables, folder.
#pragma once

#include <string>
#include <vector>

#include "tests/mutants/faults.hpp"

namespace mutants {

struct Command {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string folder;
};

Command changed(Command command, Fault fault);

}  // namespace mutants

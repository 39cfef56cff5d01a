// A script and the state of the shell before it, as a program to start. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/keeper/shell/state.hpp"
#include "core/plan/plan.hpp"

namespace exechost::keeper::shell {

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> fallback;   // started where the program of argv is not there; empty: nothing else
  std::vector<std::string> variables;  // "NAME=value"
  std::string input;                   // what the shell reads from kStateIn
};

// `variables`: the command's, as planned.
Program make_program(const std::optional<State>& state, const plan::ShellRun& run,
                     const std::vector<std::string>& variables);

}  // namespace exechost::keeper::shell

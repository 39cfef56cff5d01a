// Which bwrap is used. PATH is never searched: the first folder on it may belong to whoever
// wrote the command.
#pragma once

#include <string>
#include <variant>

namespace exechost::bwrap {

struct Program {
  std::string path;  // links resolved
};

struct ProgramProblem {
  std::string message;
  std::string hint;
  int error_number = 0;
};

// `configured`: the setting backends.bwrap.path, or empty for the usual places. The file and
// every folder above it must be root's or the effective user's and not writable by others.
std::variant<Program, ProgramProblem> find_program(const std::string& configured);

}  // namespace exechost::bwrap

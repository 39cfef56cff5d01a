// SESSION:PATH or a path of this machine, as cp takes them.
#pragma once

#include <optional>
#include <string>

#include "exechost/failure.hpp"

namespace exechost::cli {

struct PlaceArgument {
  std::optional<std::string> session;  // not set: this machine
  std::string path;
};

// A colon behind a name, before any slash, makes it a session's; ./a:b is a file of this machine.
Result<PlaceArgument> place_argument(const std::string& word);

}  // namespace exechost::cli

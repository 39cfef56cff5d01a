// Completion scripts for shells.
#pragma once

#include <string>
#include <vector>

#include "cli/completion/model.hpp"

namespace exechost::cli {

std::string bash_completion(const std::vector<CompletableCommand>& commands);
std::string zsh_completion(const std::vector<CompletableCommand>& commands);
std::string fish_completion(const std::vector<CompletableCommand>& commands);

}  // namespace exechost::cli

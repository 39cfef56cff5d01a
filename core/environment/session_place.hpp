// What an environment is made from, part by part: plans with the same parts can share one, and a person can be told
// what is different about two others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/environment/environment_source.hpp"
#include "core/keeper/messages.hpp"

namespace exechost::environment {

// By names for a person ("image", "/home/u/w/.git"). Left out is what each command has for itself: its variables,
// working folder, streams, time-out and resource limits (rlimits).
std::map<std::string, keeper::PlacePart> place_parts(const EnvironmentRequest& request);

// Paths of this machine that commands there may write, whatever they are called inside.
std::vector<std::string> writable_places(const plan::Plan& plan);

// The same in one text, with the variables that the environment itself is made with: not shown to anyone. For runs of
// one program, which may have several environments at a time.
std::string place_of(const EnvironmentRequest& request);

}  // namespace exechost::environment

// What the node tier says about itself: it starts, streams and kills, and isolates nothing.
#pragma once

#include "core/plan/capability.hpp"

namespace exechost::node {

// Static; how a tree is killed on this machine is in the probe (local_backend.hpp). [any thread]
plan::Statement statement();

}  // namespace exechost::node

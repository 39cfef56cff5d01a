// What the gateway tier says about itself: it starts nothing.
#pragma once

#include "core/plan/capability.hpp"

namespace exechost::gateway {

// Static; nothing about it depends on the machine that opening the roots would not say. [any thread]
plan::Statement statement();
plan::Probe probe();

}  // namespace exechost::gateway

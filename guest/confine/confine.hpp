// Everything the guest puts on itself, in one order.
#pragma once

#include "guest/outcome.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

// The order and its reasons: docs/guest.md. Fills `confined` with what is in force then.
Outcome confine(const Spec& spec, Message& confined);

}  // namespace exechost::guest

// Whether the view is the one that was planned.
#pragma once

#include "guest/outcome.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

// Looks at every path whose identity the specification knows. ESTALE: something else is there than
// has to be, or what must be out of reach is there; Outcome::detail is the check's index.
Outcome check_view(const Spec& spec);

}  // namespace exechost::guest

// What the guest puts on inside the environment, as far as the view and the settings decide it.
#pragma once

#include "core/plan/plan.hpp"

namespace exechost::plan {

// Landlock rules only ever give rights: they repeat the view's writable and readable parts, so that
// what a mount should have protected has a second guard. RLIMIT_NPROC does not bind root and is left
// out for uid 0. `rendered`: the backend carries the view out; where best_effort accepts that it does
// not, only the paths that have to be there are checked.
Confinement make_confinement(const View& view, const Resources& resources, const Facts& facts, bool rendered = true);

// The node tier's: the guest starts and ends the command, and takes nothing from it.
Confinement no_confinement();

}  // namespace exechost::plan

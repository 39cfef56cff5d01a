// Decides whether a plan may go ahead. The sandbox tier runs under security `full` with ask `off`:
// the boundary protects, nobody is asked. Rules, approvers and the other tiers' modes come
// through this one function.
#pragma once

#include <string>

#include "core/plan/plan.hpp"
#include "exechost/failure.hpp"

namespace exechost::admission {

struct Decision {
  std::string by;  // the rule or the person that allowed it, in words
};

// Pure. `denied` with phase admission names the rule. [any thread]
Result<Decision> decide(const plan::Plan& plan);

}  // namespace exechost::admission

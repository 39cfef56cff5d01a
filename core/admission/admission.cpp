#include "core/admission/admission.hpp"

#include <fmt/format.h>

namespace exechost::admission {

Result<Decision> decide(const plan::Plan& plan) {
  if (plan.tier == "sandbox") return Decision{"sandbox tier: security full, ask off"};
  // Planning refuses the other tiers until they exist; a plan for one that came here by another
  // way must not run under the sandbox tier's rules.
  Failure failure;
  failure.kind = FailureKind::denied;
  failure.phase = Phase::admission;
  failure.message = fmt::format("tier \"{}\" has no admission rules, so nothing is admitted to it", plan.tier);
  failure.hint = "use the sandbox tier";
  failure.backend = plan.backend;
  return unexpected(failure);
}

}  // namespace exechost::admission

#include "core/admission/gate.hpp"

#include <fmt/format.h>

#include <utility>

namespace exechost::admission {

Decision Gate::decide(const plan::Plan& plan, const Rules& rules) const {
  const std::lock_guard lock(mutex_);
  return admission::decide(plan, rules, granted_);
}

void Gate::remember(SessionGrant grant) {
  const std::lock_guard lock(mutex_);
  granted_.push_back(std::move(grant));
}

std::optional<Failure> refused_without_asking(const plan::Plan& plan, const Decision& decision, bool can_ask) {
  if (const auto* denied = std::get_if<Denied>(&decision)) {
    if (!plan.degraded) return refusal(plan, denied->by, denied->hint);
    // There would have been another place, but not for this command: what is wrong is still the first.
    Failure failure = plan.degraded->reason;
    if (!failure.hint.empty()) failure.hint += "; ";
    failure.hint += fmt::format("fallback: {}: {}", plan.backend, denied->by);
    return failure;
  }
  const auto* asked = std::get_if<Asked>(&decision);
  if (asked == nullptr || can_ask) return std::nullopt;
  return refused_by(plan, *asked, Answer::no_route);
}

Failure refused_by(const plan::Plan& plan, const Asked& asked, Answer answer) {
  switch (answer) {
    case Answer::no_route:
      // Nothing was decided about the weaker place: what is wrong is still the first one.
      if (plan.degraded) return plan.degraded->reason;
      return refusal(plan, asked.by + ", and there is nobody to ask", asked.hint);
    case Answer::timed_out: return refusal(plan, "nobody answered in time", asked.hint);
    case Answer::cancelled: return refusal(plan, "the question was withdrawn", asked.hint);
    case Answer::deny:
    case Answer::once:
    case Answer::session: break;
  }
  return refusal(plan, "the person who was asked said no", {});
}

}  // namespace exechost::admission

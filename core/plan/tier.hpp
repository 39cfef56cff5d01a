// Which tier, and which backends in which order.
#pragma once

#include <string>
#include <vector>

#include "core/plan/negotiation.hpp"
#include "core/plan/plan.hpp"

namespace exechost::plan {

// "sandbox"; the others are unsupported in this version.
Result<std::string> choose_tier(const settings::Settings& settings);
// closed, ask or open; fail_if_unavailable decides when it is set.
Result<std::string> choose_on_unavailable(const settings::Settings& settings);

struct Choice {
  const BackendFacts* backend = nullptr;
  Negotiated negotiated;
  std::vector<Candidate> candidates;
  std::vector<std::string> warnings;
};
// The first candidate, or with on_unavailable `open` the next one that can carry the request when the
// first can't be used now.
Result<Choice> choose_backend(const PlanInput& input, const std::string& on_unavailable);

}  // namespace exechost::plan

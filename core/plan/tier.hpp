// Which tier, and which backends in which order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/negotiation.hpp"
#include "core/plan/plan.hpp"

namespace exechost::plan {

// "sandbox" or "node"; gateway is unsupported in this version.
Result<std::string> choose_tier(const settings::Settings& settings);
// closed, ask or open; fail_if_unavailable decides when it is set.
Result<std::string> choose_on_unavailable(const settings::Settings& settings);

struct Choice {
  const BackendFacts* backend = nullptr;
  Negotiated negotiated;
  std::vector<Candidate> candidates;
  std::vector<std::string> warnings;
  std::optional<Degraded> degraded;  // another than the first, and somebody has to agree to it
};
// In the node tier `local`, else the first candidate; when that can't be used now, the next one that
// can carry the request: with on_unavailable `open`, or `ask` when somebody can be asked.
Result<Choice> choose_backend(const PlanInput& input, const std::string& tier, const std::string& on_unavailable);

}  // namespace exechost::plan

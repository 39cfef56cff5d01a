// What one backend makes of the settings: each one requested, effective, how strongly and by whom,
// or the reason why this backend can't carry the request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"

namespace exechost::plan {

// The parts of a plan that depend on the backend.
struct Negotiated {
  std::optional<Failure> rejected;
  Statement statement;  // static and probed
  NetworkPolicy network;
  Resources resources;
  std::string image;
  bool persistent = false;
  std::vector<SettingReport> reports;
  std::vector<std::string> isolation;
  std::vector<std::string> warnings;
};

// A setting that anybody set is a requirement: met at least as `emulated`, or named in best_effort,
// or the backend is rejected as unsupported. Built-in limits apply as far as they go and are
// reported. Isolating files and cutting the network are required even as built-in values.
Negotiated negotiate(const PlanInput& input, const BackendFacts& backend);

}  // namespace exechost::plan

// What was measured: as JSON to keep, as Markdown to show.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/comparison.hpp"

namespace exechost::bench {

struct Measured {
  Comparison comparison;
  std::vector<Series> series;
};

// Machine, date, and each comparison with every single time in microseconds.
nlohmann::json to_json(const std::vector<Measured>& all);
// Tables: times, ratios to each comparison's first subject, claims and whether they hold.
std::string to_markdown(const std::vector<Measured>& all);
// In words, those claims that did not hold.
std::vector<std::string> missed_claims(const std::vector<Measured>& all);

}  // namespace exechost::bench

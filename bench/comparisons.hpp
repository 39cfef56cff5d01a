// The comparisons that make up the benchmark, in the order they are shown.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "bench/place.hpp"

namespace exechost::bench {

struct NamedComparison {
  std::string name;  // for --only
  std::function<Comparison(const Place& place, const std::string& peers)> make;
};
std::vector<NamedComparison> all_comparisons();

// What a worker does: "spawn" or "node"; null for anything else.
std::function<double()> worker_subject(const std::string& name, const Place& place);

}  // namespace exechost::bench

// Figures of a series of measurements.
#pragma once

#include <cstddef>
#include <vector>

namespace exechost::bench {

struct Spread {
  double low = 0;  // a tenth of all are below
  double median = 0;
  double high = 0;  // a tenth of all are above
};

// Of at least one value.
Spread spread_of(std::vector<double> values);
// Value by value: the machine's mood at that moment is in both, and cancels.
std::vector<double> ratios(const std::vector<double>& values, const std::vector<double>& to);

}  // namespace exechost::bench

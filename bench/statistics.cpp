#include "bench/statistics.hpp"

#include <algorithm>

namespace exechost::bench {
namespace {

double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9)};
}

std::vector<double> ratios(const std::vector<double>& values, const std::vector<double>& to) {
  std::vector<double> quotients;
  for (std::size_t i = 0; i < std::min(values.size(), to.size()); ++i) quotients.push_back(values[i] / to[i]);
  return quotients;
}

}  // namespace exechost::bench

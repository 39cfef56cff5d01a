#include "bench/comparison.hpp"

namespace exechost::bench {
namespace {

// The first times fill caches and start what starts at first need.
constexpr int kWarmUps = 3;

}  // namespace

std::vector<Series> measure(const Comparison& comparison, int rounds, const std::function<void(int round)>& progress) {
  const std::size_t count = comparison.subjects.size();
  std::vector<Series> series(count);
  for (std::size_t i = 0; i < count; ++i) series[i].name = comparison.subjects[i].name;
  for (int round = -kWarmUps; round < rounds; ++round) {
    progress(round);
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round + kWarmUps)) % count;
      const double took = comparison.subjects[i].once();
      if (round >= 0) series[i].microseconds.push_back(took);
    }
  }
  return series;
}

}  // namespace exechost::bench

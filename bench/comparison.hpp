// Several ways to do the same thing, measured in turns in one run, so that what disturbs one
// disturbs all of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace exechost::bench {

// One way. `once` does it and returns how long it took, in microseconds; it throws when it went wrong.
struct Subject {
  std::string name;
  std::function<double()> once;
};

// What is claimed about a subject's ratio to the first one, or about its own time.
struct Claim {
  std::string subject;
  std::string to;  // empty: `at_most` is in microseconds
  double at_most = 0;
};

struct Comparison {
  std::string title;
  std::string what;                  // one sentence: what is done once
  int rounds = 0;                    // 0: as many as the run says
  std::vector<Subject> subjects;     // the first is what the others are compared with
  std::vector<std::string> missing;  // what could not be measured here, and why
  std::vector<Claim> claims;
};

struct Series {
  std::string name;
  std::vector<double> microseconds;  // one for each round
};

// All rounds; each starts with another subject. `progress` is called before each round.
std::vector<Series> measure(const Comparison& comparison, int rounds, const std::function<void(int round)>& progress);

}  // namespace exechost::bench

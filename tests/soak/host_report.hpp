// What kill_host.cpp said, and whether it can be true.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace exechost::test {

struct RunEnd {
  std::string what;  // KIND.ROUND
  std::string status;
  std::string started;
  std::string failure;
  bool recreated = false;
  int signal_number = 0;
  std::string environment;
  std::string output;

  std::string kind() const { return what.substr(0, what.find('.')); }
  int round() const { return std::stoi(what.substr(what.find('.') + 1)); }
  bool disturbed() const { return status != "exited"; }
};

struct HostReport {
  explicit HostReport(const std::string& output);

  std::map<std::string, RunEnd> ends;
  std::string job;  // "ok", a kind of failure, or empty
  bool over = false;
  bool done = false;
};

// `started` agrees with what the commands left in the workspace, and nothing ran twice.
void expect_honest(const HostReport& report, const std::string& workspace);

// All of the rounds are there. Of the kinds that `may_be_disturbed` those of one round, and no others, may have failed
// with `failures`; an environment that is another one has been said to be lost, and said once.
struct Disturbance {
  std::vector<std::string> kinds;
  std::vector<std::string> failures;
  int signal_number = 0;        // what may have ended one instead
  std::string opening_failure;  // what may have kept those from starting whose environment was being opened
};
void expect_one_disturbance(const HostReport& report, const Disturbance& disturbance);

// How many runs of it were disturbed.
int disturbed_runs(const HostReport& report);

}  // namespace exechost::test

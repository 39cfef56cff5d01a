#include "tests/soak/host_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "tests/support/temp_folder.hpp"

namespace exechost::test {
namespace {

constexpr int kRounds = 4;
const std::vector<std::string> kEveryRound{"plain", "script", "local", "named"};

std::string text_of(const RunEnd& end) {
  return end.what + " " + end.status + " started=" + end.started + " " + end.failure +
         (end.recreated ? " recreated" : "") + " in " + end.environment + ": " + end.output;
}

std::string text_of(const HostReport& report) {
  std::string text;
  for (const auto& [what, end] : report.ends) text += text_of(end) + "\n";
  return text;
}

std::vector<RunEnd> of_kinds(const HostReport& report, const std::vector<std::string>& kinds) {
  std::vector<RunEnd> found;
  for (const auto& [what, end] : report.ends) {
    if (std::find(kinds.begin(), kinds.end(), end.kind()) != kinds.end()) found.push_back(end);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const RunEnd& left, const RunEnd& right) { return left.round() < right.round(); });
  return found;
}

// What those that share an environment say of it.
void expect_told(const HostReport& report, const std::vector<std::string>& kinds) {
  std::set<std::string> environments;
  std::set<int> said;
  bool failed = false;
  for (const RunEnd& end : of_kinds(report, kinds)) {
    if (end.environment != "-" && !end.disturbed()) environments.insert(end.environment);
    if (end.recreated) said.insert(end.round());
    failed = failed || end.failure == "environment_lost" || end.failure == "plugin_crashed";
  }
  EXPECT_LE(environments.size(), 2u) << text_of(report);
  EXPECT_LE(said.size(), 1u) << "said more than once\n" << text_of(report);
  EXPECT_TRUE(environments.size() < 2 || failed || !said.empty()) << "lost without a word\n" << text_of(report);
}

long count_of(const RunEnd& end) { return std::strtol(end.output.c_str(), nullptr, 10); }

// Each goes on where the last one of its environment ended.
void expect_state(const HostReport& report, const std::string& kind) {
  const RunEnd* before = nullptr;
  const auto ends = of_kinds(report, {kind});
  for (const RunEnd& end : ends) {
    const long count = count_of(end);
    if (!end.disturbed() && before != nullptr) {
      if (before->environment != end.environment) {
        EXPECT_EQ(count, 1) << text_of(report);
      } else if (!before->disturbed()) {
        EXPECT_EQ(count, count_of(*before) + 1) << text_of(report);
      }
    }
    before = &end;
  }
}

}  // namespace

HostReport::HostReport(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    over = over || first == "over";
    done = done || first == "done";
    if (first == "job") words >> job;
    if (first != "end") continue;
    RunEnd end;
    std::string recreated;
    words >> end.what >> end.status >> end.started >> end.failure >> recreated >> end.signal_number >>
        end.environment >> end.output;
    if (!words) continue;  // its writer was killed
    end.recreated = recreated == "recreated";
    EXPECT_TRUE(ends.emplace(end.what, end).second) << end.what << " ended twice";
  }
}

void expect_honest(const HostReport& report, const std::string& workspace) {
  for (const auto& [what, end] : report.ends) {
    const std::string path = workspace + "/ran." + what;
    const std::string lines = exists(path) ? read_file(path) : std::string();
    EXPECT_LE(lines.size(), 1u) << "ran twice: " << text_of(end);
    if (end.started == "no") {
      EXPECT_EQ(lines.size(), 0u) << "it has run: " << text_of(end);
    }
    if (!end.disturbed()) {
      EXPECT_EQ(lines.size(), 1u) << "it has not run: " << text_of(end);
      EXPECT_EQ(end.started, "yes") << text_of(end);
    }
  }
}

void expect_one_disturbance(const HostReport& report, const Disturbance& disturbance) {
  for (int round = 1; round <= kRounds; ++round) {
    for (const std::string& kind : kEveryRound) {
      EXPECT_TRUE(report.ends.contains(kind + "." + std::to_string(round))) << kind << round << text_of(report);
    }
  }
  std::set<int> rounds;
  for (const auto& [what, end] : report.ends) {
    if (!end.disturbed()) continue;
    rounds.insert(end.round());
    const auto is = [](const std::vector<std::string>& list, const std::string& one) {
      return std::find(list.begin(), list.end(), one) != list.end();
    };
    EXPECT_TRUE(is(disturbance.kinds, end.kind())) << "nobody touched it: " << text_of(end) << "\n" << text_of(report);
    const bool by_signal = disturbance.signal_number != 0 && end.status == "signaled" &&
                           end.signal_number == disturbance.signal_number && end.started == "yes";
    const bool opening =
        !disturbance.opening_failure.empty() && end.started == "no" && end.failure == disturbance.opening_failure;
    EXPECT_TRUE(by_signal || opening || (end.status == "failed" && is(disturbance.failures, end.failure)))
        << text_of(end);
  }
  EXPECT_LE(rounds.size(), 1u) << "the next run has to work\n" << text_of(report);
  expect_told(report, {"plain", "stray", "script"});
  expect_told(report, {"named"});
  expect_state(report, "script");
  expect_state(report, "named");
}

int disturbed_runs(const HostReport& report) {
  return static_cast<int>(
      std::count_if(report.ends.begin(), report.ends.end(), [](const auto& item) { return item.second.disturbed(); }));
}

}  // namespace exechost::test

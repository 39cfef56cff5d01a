// The conformance kit: runs a plugin and compares what it does with what it claims.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/check.hpp"
#include "core/conformance/subject.hpp"
#include "exechost/failure.hpp"

namespace exechost::conformance {

struct Options {
  SubjectOptions subject;
  Level highest = Level::recovery;
  std::vector<std::string> only;  // names or their beginnings ("tree"); empty: all
  bool stop_at_failure = false;
};

struct Finding {
  Level level = Level::exec;
  std::string name;
  std::string title;
  Verdict verdict;
  std::chrono::milliseconds took{0};
};

struct Report {
  std::string backend;
  std::string library;
  plan::Statement statement;
  std::vector<Finding> findings;
  bool stopped = false;  // asked to, before all checks were made

  std::size_t count(Verdict::Kind kind) const;
  // The highest level up to which no check failed; nothing when one of level 0 did. What could not be checked
  // does not count either way.
  std::optional<Level> level() const;
};

// `on_finding` is called after each check. Fails when there is no plugin to check. Takes a minute or so.
Result<Report> run_kit(const Options& options, const std::function<void(const Finding&)>& on_finding = {});

std::string_view to_string(Level level);  // "L1 streams"

}  // namespace exechost::conformance

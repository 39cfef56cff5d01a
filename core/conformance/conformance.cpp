#include "core/conformance/conformance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace exechost::conformance {
namespace {

bool is_wanted(const Options& options, const Check& check) {
  if (check.level > options.highest) return false;
  if (options.only.empty()) return true;
  return std::any_of(options.only.begin(), options.only.end(),
                     [&](const std::string& name) { return check.name == name || check.name.starts_with(name + "."); });
}

Failure nothing_wanted(const std::vector<Check>& checks) {
  std::vector<std::string> names;
  for (const Check& check : checks) names.push_back(check.name);
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::plan;
  failure.step = "only";
  failure.message = "no check has such a name";
  failure.hint = fmt::format("the checks are {}", fmt::join(names, ", "));
  return failure;
}

}  // namespace

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto& group :
       {manifest_checks(), exec_checks(), argument_checks(), stream_checks(), stop_checks(), tree_checks(),
        guest_checks(), environment_checks(), limit_checks(), isolation_checks(), recovery_checks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const Check& a, const Check& b) { return a.level < b.level; });
  return all;
}

Result<Report> run_kit(const Options& options, const std::function<void(const Finding&)>& on_finding) {
  const std::vector<Check> checks = all_checks();
  if (std::none_of(checks.begin(), checks.end(), [&](const Check& check) { return is_wanted(options, check); }))
    return unexpected(nothing_wanted(checks));
  auto subject = Subject::make(options.subject);
  if (!subject) return unexpected(subject.error());
  Report report;
  report.backend = (*subject)->id();
  report.library = options.subject.library;
  report.statement = (*subject)->statement();
  for (const Check& check : checks) {
    if (!is_wanted(options, check)) continue;
    const auto began = std::chrono::steady_clock::now();
    Finding finding{check.level, check.name, check.title, check.run(**subject), {}};
    finding.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    if (options.subject.stop.stop_requested()) {
      report.stopped = true;  // in the middle of this one: it says nothing
      break;
    }
    report.findings.push_back(finding);
    if (on_finding) on_finding(finding);
    if (options.stop_at_failure && finding.verdict.kind == Verdict::Kind::failed) break;
  }
  return report;
}

std::size_t Report::count(Verdict::Kind kind) const {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [kind](const Finding& finding) { return finding.verdict.kind == kind; }));
}

std::optional<Level> Report::level() const {
  std::optional<Level> reached;
  for (const Finding& finding : findings) {
    if (finding.verdict.kind == Verdict::Kind::failed) {
      if (finding.level == Level::exec) return std::nullopt;
      return std::min(reached.value_or(Level::exec), static_cast<Level>(static_cast<int>(finding.level) - 1));
    }
    reached = finding.level;
  }
  return reached;
}

std::string_view to_string(Level level) {
  constexpr std::array<std::string_view, 5> kNames{"L0 exec", "L1 streams", "L2 environments", "L3 limits",
                                                   "L4 recovery"};
  return kNames.at(static_cast<std::size_t>(level));
}

}  // namespace exechost::conformance

#include "bench/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <thread>

#include "bench/statistics.hpp"

namespace exechost::bench {
namespace {

using nlohmann::json;

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string kernel() {
  utsname names{};
  ::uname(&names);
  return names.release;
}

std::string machine() {
  return fmt::format("{} × {}, Linux {}", std::thread::hardware_concurrency(), processor(), kernel());
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

const Series* find(const Measured& measured, const std::string& name) {
  const auto found = std::find_if(measured.series.begin(), measured.series.end(),
                                  [&](const Series& series) { return series.name == name; });
  return found == measured.series.end() ? nullptr : &*found;
}

// Milliseconds where microseconds would be hard to read.
std::string shown(double microseconds) {
  constexpr double kMillisecond = 1000;
  if (microseconds < kMillisecond) return fmt::format("{:.0f} µs", microseconds);
  return fmt::format("{:.2f} ms", microseconds / kMillisecond);
}

// The claim's figure as it was measured.
double observed(const Measured& measured, const Claim& claim) {
  const Series* subject = find(measured, claim.subject);
  if (claim.to.empty()) return spread_of(subject->microseconds).median;
  return spread_of(ratios(subject->microseconds, find(measured, claim.to)->microseconds)).median;
}

std::string in_words(const Measured& measured, const Claim& claim) {
  const double value = observed(measured, claim);
  const char* const verdict = value <= claim.at_most ? "holds" : "**missed**";
  if (claim.to.empty()) {
    return fmt::format("{} ≤ {}: {} ({})", claim.subject, shown(claim.at_most), shown(value), verdict);
  }
  return fmt::format("{} ≤ {:.3g} × {}: {:.2f} ({})", claim.subject, claim.at_most, claim.to, value, verdict);
}

std::string table(const Measured& measured) {
  std::string text = "| | median | 10 % – 90 % | ratio | 10 % – 90 % |\n|---|---:|---:|---:|---:|\n";
  const Series& first = measured.series.front();
  for (const Series& series : measured.series) {
    const Spread time = spread_of(series.microseconds);
    const Spread ratio = spread_of(ratios(series.microseconds, first.microseconds));
    text += fmt::format("| {} | {} | {} – {} | {:.2f} | {:.2f} – {:.2f} |\n", series.name, shown(time.median),
                        shown(time.low), shown(time.high), ratio.median, ratio.low, ratio.high);
  }
  return text;
}

}  // namespace

json to_json(const std::vector<Measured>& all) {
  json comparisons = json::array();
  for (const Measured& measured : all) {
    json series = json::object();
    for (const Series& one : measured.series) series[one.name] = one.microseconds;
    comparisons.push_back({{"title", measured.comparison.title},
                           {"what", measured.comparison.what},
                           {"microseconds", std::move(series)},
                           {"missing", measured.comparison.missing}});
  }
  return {{"date", today()}, {"machine", machine()}, {"comparisons", std::move(comparisons)}};
}

std::string to_markdown(const std::vector<Measured>& all) {
  std::string text = fmt::format("{}, {}.\n", today(), machine());
  for (const Measured& measured : all) {
    text += fmt::format("\n### {}\n\n{} ({} rounds).\n\n", measured.comparison.title, measured.comparison.what,
                        measured.series.front().microseconds.size());
    text += table(measured);
    for (const std::string& line : measured.comparison.missing) text += fmt::format("\nNot measured: {}.\n", line);
    if (!measured.comparison.claims.empty()) text += '\n';
    for (const Claim& claim : measured.comparison.claims) text += fmt::format("- {}\n", in_words(measured, claim));
  }
  return text;
}

std::vector<std::string> missed_claims(const std::vector<Measured>& all) {
  std::vector<std::string> missed;
  for (const Measured& measured : all) {
    for (const Claim& claim : measured.comparison.claims) {
      if (observed(measured, claim) > claim.at_most) {
        missed.push_back(fmt::format("{}: {}", measured.comparison.title, in_words(measured, claim)));
      }
    }
  }
  return missed;
}

}  // namespace exechost::bench

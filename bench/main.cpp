// Measures ExecHost beside what it is made of and what it replaces, all in one run.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "bench/comparisons.hpp"
#include "bench/report.hpp"
#include "bench/worker.hpp"

namespace exechost::bench {
namespace {

struct Options {
  int rounds = 50;
  std::vector<std::string> only;
  std::string peers;
  std::string json_file;
  std::string markdown_file;
  bool strict = false;
  std::string worker;
  std::size_t ballast_mib = 0;
};

bool is_wanted(const Options& options, const std::string& name) {
  return options.only.empty() || std::find(options.only.begin(), options.only.end(), name) != options.only.end();
}

Measured run_one(const NamedComparison& named, const Options& options, const Place& place) {
  Measured measured;
  measured.comparison = named.make(place, options.peers);
  const int rounds = measured.comparison.rounds > 0 ? measured.comparison.rounds : options.rounds;
  const bool shows_progress = ::isatty(STDERR_FILENO) == 1;
  measured.series = measure(measured.comparison, rounds, [&](int round) {
    if (shows_progress) fmt::print(stderr, "\r{}: round {} of {} ", named.name, std::max(round, 0) + 1, rounds);
  });
  if (shows_progress) fmt::print(stderr, "\r\033[K");
  return measured;
}

int run(const Options& options) {
  const Place place;
  if (!options.worker.empty()) {
    const auto subject = worker_subject(options.worker, place);
    return subject ? serve_worker(subject, options.ballast_mib) : 2;
  }
  std::vector<Measured> all;
  for (const NamedComparison& named : all_comparisons()) {
    if (is_wanted(options, named.name)) all.push_back(run_one(named, options, place));
  }
  const std::string markdown = to_markdown(all);
  fmt::print("{}", markdown);
  if (!options.json_file.empty()) std::ofstream(options.json_file) << to_json(all).dump(1) << '\n';
  if (!options.markdown_file.empty()) std::ofstream(options.markdown_file) << markdown;
  const std::vector<std::string> missed = missed_claims(all);
  for (const std::string& claim : missed) fmt::print(stderr, "missed: {}\n", claim);
  return options.strict && !missed.empty() ? 1 : 0;
}

int main_with(int argc, char** argv) {
  CLI::App app("Measures ExecHost beside what it is made of and what it replaces.");
  Options options;
  app.add_option("--rounds", options.rounds, "Rounds of each comparison")->check(CLI::Range(5, 100000));
  app.add_option("--only", options.only,
                 "Only these comparisons: cold, node, dispatch, kill, warm, output, many, many-perl, parallel-N");
  app.add_option("--peers", options.peers, "Folder whose node_modules has codex and srt");
  app.add_option("--json", options.json_file, "Keep every single time here");
  app.add_option("--markdown", options.markdown_file, "Write the tables here too");
  app.add_flag("--strict", options.strict, "Exit status 1 when a claim does not hold");
  app.add_option("--worker", options.worker, "Be the other side of a comparison")->group("");
  app.add_option("--ballast-mib", options.ballast_mib, "Memory that a worker holds")->group("");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}

}  // namespace
}  // namespace exechost::bench

int main(int argc, char** argv) {
  try {
    return exechost::bench::main_with(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exechost_bench: {}\n", error.what());
    return 2;
  }
}

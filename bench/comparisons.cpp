#include "bench/comparisons.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "bench/subjects/subjects.hpp"
#include "bench/worker.hpp"

namespace exechost::bench {
namespace {

constexpr std::size_t kBallastMib = 1024;
constexpr double kMillisecond = 1000;

Once in_worker(const std::string& subject, std::size_t ballast_mib) {
  auto worker = std::make_shared<Worker>(subject, ballast_mib);
  return [worker] { return worker->once(); };
}

Comparison cold_bwrap(const Place& place, const std::string& peers) {
  Comparison comparison;
  comparison.title = "A command in a new sandbox";
  comparison.what =
      "`true` in a new environment, with the default view, no network, system call filter and Landlock; raw bwrap has "
      "the same mounts and namespaces, without filter and Landlock";
  comparison.subjects = {
      {"raw bwrap", raw_bwrap(place)},
      {"host.run, keeper in process", host_run(place, "bwrap", KeeperPlacement::in_process, Lasting::no)},
      {"host.run, child keeper", host_run(place, "bwrap", KeeperPlacement::child, Lasting::no)},
      {"exechost run", command_line_run(place)}};
  comparison.claims = {{"host.run, keeper in process", "raw bwrap", 1.25},
                       {"host.run, child keeper", "raw bwrap", 1.25}};
  for (Peer& peer : std::vector<Peer>{codex(place, peers), srt(place, peers)}) {
    if (!peer.once) {
      comparison.missing.push_back(fmt::format("{}: {}", peer.name, peer.why_not));
      continue;
    }
    comparison.claims.push_back({"host.run, child keeper", peer.name, 0.1});
    comparison.subjects.push_back({std::move(peer.name), std::move(*peer.once)});
  }
  return comparison;
}

Comparison warm(const Place& place, const std::string& /*peers*/) {
  Comparison comparison;
  comparison.title = "A command in an environment that is there";
  comparison.what =
      "`true` once more in the environment of the run before, in the node tier, in a sandbox with descriptors that are "
      "passed, and in one through frames; and for comparison in a new sandbox";
  comparison.subjects = {{"node", host_run(place, "node", KeeperPlacement::child, Lasting::yes)},
                         {"bwrap", host_run(place, "bwrap", KeeperPlacement::child, Lasting::yes)},
                         {"bwrap, frames", host_run(place, "streamed", KeeperPlacement::child, Lasting::yes)},
                         {"a new bwrap", host_run(place, "bwrap", KeeperPlacement::child, Lasting::no)}};
  comparison.claims = {{"bwrap", "node", 1.5}, {"bwrap", "a new bwrap", 0.4}, {"bwrap, frames", "bwrap", 1.5}};
  return comparison;
}

// The ratio is of times: 0.6 of the throughput is 1.67 of the time.
Comparison eight_at_once(const std::vector<std::string>& argv, const std::string& name, const Place& place, int runs) {
  constexpr int kAtOnce = 8;
  constexpr int kRounds = 20;
  constexpr double kMost = 1 / 0.6;
  Comparison comparison;
  comparison.title = fmt::format("{} × {}, {} at a time", runs, name, kAtOnce);
  comparison.what = fmt::format("by `xargs -P{}` as plain processes, and through one session", kAtOnce);
  comparison.rounds = kRounds;
  comparison.subjects = {{"xargs", runs_by_xargs(place, argv, runs, kAtOnce)},
                         {"session, node", runs_in_session(place, "node", argv, runs, kAtOnce)},
                         {"session, bwrap", runs_in_session(place, "bwrap", argv, runs, kAtOnce)}};
  comparison.claims = {{"session, bwrap", "xargs", kMost}};
  return comparison;
}

Comparison many_small(const Place& place, const std::string& /*peers*/) {
  constexpr int kRuns = 256;
  return eight_at_once({"/bin/true"}, "true", place, kRuns);
}

Comparison many_scripts(const Place& place, const std::string& /*peers*/) {
  constexpr int kRuns = 64;
  return eight_at_once({"/usr/bin/perl", "-e1"}, "perl", place, kRuns);
}

Comparison output(const Place& place, const std::string& /*peers*/) {
  constexpr int kRounds = 5;
  Comparison comparison;
  comparison.title = "1 GiB of standard output";
  comparison.what = "`head -c 1G /dev/zero`, read to its end: by a pipe between two processes, and by host.run";
  comparison.rounds = kRounds;
  comparison.subjects = {{"pipe", output_through_pipe(place)},
                         {"host.run, bwrap", output_of_run(place, "bwrap")},
                         {"host.run, bwrap, frames", output_of_run(place, "streamed")}};
  // 0.9 and 0.25 of the throughput.
  constexpr double kPassed = 1 / 0.9;
  comparison.claims = {{"host.run, bwrap", "pipe", kPassed}, {"host.run, bwrap, frames", "pipe", 4}};
  return comparison;
}

Comparison node(const Place& place, const std::string& /*peers*/) {
  Comparison comparison;
  comparison.title = "A trusted command, without isolation";
  comparison.what = "`true` as a plain process; once more from a process with 1 GiB of touched memory";
  comparison.subjects = {{"posix_spawn and wait", raw_spawn(place)},
                         {"host.run, node", host_run(place, "node", KeeperPlacement::child, Lasting::yes)},
                         {"posix_spawn and wait, 1 GiB", in_worker("spawn", kBallastMib)},
                         {"host.run, node, 1 GiB", in_worker("node", kBallastMib)}};
  comparison.claims = {{"host.run, node", "posix_spawn and wait", 1.6},
                       {"host.run, node, 1 GiB", "host.run, node", 1.1}};
  return comparison;
}

Comparison dispatching(const Place& place, const std::string& /*peers*/) {
  Comparison comparison;
  comparison.title = "Dispatch alone";
  comparison.what =
      "host.run with a backend that does nothing: settings, facts, plan, admission, keeper, streams, result";
  comparison.subjects = {{"keeper in process", dispatch(place, KeeperPlacement::in_process)},
                         {"child keeper", dispatch(place, KeeperPlacement::child)}};
  comparison.claims = {{"keeper in process", "", 50}, {"child keeper", "", 150}};
  return comparison;
}

Comparison killing(const Place& place, const std::string& /*peers*/) {
  constexpr int kRounds = 20;
  Comparison comparison;
  comparison.title = "From the deadline until nothing is left";
  comparison.what =
      "a tree with a session of its own and an orphan, deaf to signals: time beyond the time-out when run returns";
  comparison.rounds = kRounds;
  comparison.subjects = {{"bwrap", kill_latency(place, "bwrap")}, {"node", kill_latency(place, "node")}};
  comparison.claims = {{"bwrap", "", 100 * kMillisecond}, {"node", "", 100 * kMillisecond}};
  return comparison;
}

Comparison parallel(const Place& place, int count) {
  constexpr int kRuns = 256;
  Comparison comparison;
  comparison.title = fmt::format("{} at the same time", count);
  comparison.what = fmt::format("{} × `true` in new sandboxes, until the last has ended", count);
  comparison.rounds = std::max(5, kRuns / count / 2);
  comparison.subjects = {{"raw bwrap", parallel_raw_bwraps(place, count)},
                         {"host.run, child keeper", parallel_host_runs(place, count)}};
  return comparison;
}

}  // namespace

std::vector<NamedComparison> all_comparisons() {
  std::vector<NamedComparison> all{
      {"cold", cold_bwrap}, {"node", node},     {"dispatch", dispatching}, {"kill", killing},
      {"warm", warm},       {"output", output}, {"many", many_small},      {"many-perl", many_scripts}};
  for (const int count : {1, 4, 16, 64}) {
    all.push_back({fmt::format("parallel-{}", count),
                   [count](const Place& place, const std::string& /*peers*/) { return parallel(place, count); }});
  }
  return all;
}

std::function<double()> worker_subject(const std::string& name, const Place& place) {
  if (name == "spawn") return raw_spawn(place);
  if (name == "node" || name == "bwrap" || name == "noop")
    return host_run(place, name, KeeperPlacement::child, Lasting::yes);
  if (name == "noop-in-process") return host_run(place, "noop", KeeperPlacement::in_process, Lasting::no);
  return nullptr;
}

}  // namespace exechost::bench

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
  comparison.subjects = {{"raw bwrap", raw_bwrap(place)},
                         {"host.run, keeper in process", host_run(place, "bwrap", KeeperPlacement::in_process)},
                         {"host.run, child keeper", host_run(place, "bwrap", KeeperPlacement::child)},
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
      "`true` once more in the sandbox of the run before: with descriptors that are passed, and through frames";
  comparison.subjects = {{"bwrap", host_run(place, "bwrap", KeeperPlacement::child)},
                         {"bwrap, frames", host_run(place, "streamed", KeeperPlacement::child)}};
  comparison.claims = {{"bwrap, frames", "bwrap", 1.5}};
  return comparison;
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
  comparison.claims = {{"host.run, bwrap, frames", "pipe", 4}};
  return comparison;
}

Comparison node(const Place& place, const std::string& /*peers*/) {
  Comparison comparison;
  comparison.title = "A trusted command, without isolation";
  comparison.what = "`true` as a plain process; once more from a process with 1 GiB of touched memory";
  comparison.subjects = {{"posix_spawn and wait", raw_spawn(place)},
                         {"host.run, node", host_run(place, "node", KeeperPlacement::child)},
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
  std::vector<NamedComparison> all{{"cold", cold_bwrap}, {"node", node}, {"dispatch", dispatching},
                                   {"kill", killing},    {"warm", warm}, {"output", output}};
  for (const int count : {1, 4, 16, 64}) {
    all.push_back({fmt::format("parallel-{}", count),
                   [count](const Place& place, const std::string& /*peers*/) { return parallel(place, count); }});
  }
  return all;
}

std::function<double()> worker_subject(const std::string& name, const Place& place) {
  if (name == "spawn") return raw_spawn(place);
  if (name == "node" || name == "bwrap" || name == "noop") return host_run(place, name, KeeperPlacement::child);
  if (name == "noop-in-process") return host_run(place, "noop", KeeperPlacement::in_process);
  return nullptr;
}

}  // namespace exechost::bench

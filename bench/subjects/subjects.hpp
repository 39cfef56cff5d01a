// What can be measured. Every factory returns something that does its thing once and says how many
// microseconds it took; each keeps what it needs (a host, a keeper) for all rounds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/place.hpp"

namespace exechost::bench {

using Once = std::function<double()>;

// `true` by posix_spawn, and by ExecHost in a tier or backend ("node", "bwrap"): each in an environment of its own, or
// all in that of the first, which is open before anything is measured.
enum class Lasting { no, yes };
Once raw_spawn(const Place& place);
Once host_run(const Place& place, const std::string& where, KeeperPlacement keeper, Lasting lasting);
// `exechost run -- true`, a process each time.
Once command_line_run(const Place& place);
// bwrap by posix_spawn with exactly the options that ExecHost gives it, `true` in place of the guest.
Once raw_bwrap(const Place& place);
// A run in the backend that does nothing.
Once dispatch(const Place& place, KeeperPlacement keeper);
// From the deadline of a tree that ignores signals until run() has returned.
Once kill_latency(const Place& place, const std::string& where);
// All at the same time until the last has ended.
Once parallel_host_runs(const Place& place, int count);
Once parallel_raw_bwraps(const Place& place, int count);
// `runs` times that command, at most `at_once` at a time: by xargs, and in one environment that is there.
Once runs_by_xargs(const Place& place, const std::vector<std::string>& argv, int runs, int at_once);
Once runs_in_session(const Place& place, const std::string& where, const std::vector<std::string>& argv, int runs,
                     int at_once);

// 1 GiB of standard output: by a pipe between two processes, and by a run in that backend.
Once output_through_pipe(const Place& place);
Once output_of_run(const Place& place, const std::string& backend);

// Other products, when PEERS/node_modules/.bin has them.
struct Peer {
  std::string name;
  std::optional<Once> once;
  std::string why_not;
};
Peer codex(const Place& place, const std::string& peers);
Peer srt(const Place& place, const std::string& peers);

}  // namespace exechost::bench

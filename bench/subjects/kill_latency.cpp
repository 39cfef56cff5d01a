#include <memory>
#include <stdexcept>

#include "bench/spawn.hpp"
#include "bench/subjects/subjects.hpp"

namespace exechost::bench {
namespace {

constexpr std::chrono::milliseconds kLimit{150};
// A child, one in a session of its own, and one whose parent has gone; none listens to a signal.
constexpr const char* kTree =
    "trap '' TERM INT HUP; sleep 60 & setsid sleep 60 & (setsid sh -c 'sleep 60 &') & wait; sleep 60";

}  // namespace

Once kill_latency(const Place& place, const std::string& where) {
  auto host = std::make_shared<ExecHost>(place.host_options(KeeperPlacement::child));
  Request request;
  request.shell = kTree;
  request.timeout = kLimit;
  (where == "node" ? request.tier : request.backend) = where;
  return [host, request] {
    const Stopwatch watch;
    const ExecResult result = host->run(request);
    const double took = watch.microseconds();
    if (result.status != Status::timed_out) throw std::runtime_error(result.to_json());
    return took - std::chrono::duration<double, std::micro>(kLimit).count();
  };
}

}  // namespace exechost::bench

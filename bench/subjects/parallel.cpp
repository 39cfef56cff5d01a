#include <memory>
#include <stdexcept>

#include "bench/spawn.hpp"
#include "bench/subjects/subjects.hpp"

namespace exechost::bench {

Once parallel_host_runs(const Place& place, int count) {
  auto host = std::make_shared<ExecHost>(place.host_options(KeeperPlacement::child));
  Request request;
  request.argv = {"/bin/true"};
  request.backend = "bwrap";
  request.settings_json = R"({"session": {"persistent": false}})";
  return [host, request, count] {
    std::vector<Execution> executions;
    const Stopwatch watch;
    for (int i = 0; i < count; ++i) {
      auto started = host->start(request);
      if (!started) throw std::runtime_error(describe(started.error()));
      executions.push_back(std::move(*started));
    }
    for (Execution& execution : executions) {
      const ExecResult& result = execution.wait();
      if (result.status != Status::exited || result.exit_code != 0) throw std::runtime_error(result.to_json());
    }
    return watch.microseconds();
  };
}

}  // namespace exechost::bench

// Many commands, some at a time: by xargs, and through one environment that is there.
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <stdexcept>

#include "bench/spawn.hpp"
#include "bench/subjects/subjects.hpp"

namespace exechost::bench {

Once runs_by_xargs(const Place& place, const std::vector<std::string>& argv, int runs, int at_once) {
  std::string command;
  for (const std::string& word : argv) command += " " + word;
  // An argument of its own for each, of which nothing is used: -I without its mark in the command.
  const std::string direct =
      fmt::format("yes '' | head -n {} | xargs -P{} -d '\\n' -I '{{}}'{}", runs, at_once, command);
  return [&place, direct] { return spawn_and_wait({"/bin/sh", "-c", direct}, place.environment(), place.workspace()); };
}

Once runs_in_session(const Place& place, const std::string& where, const std::vector<std::string>& argv, int runs,
                     int at_once) {
  auto host = std::make_shared<ExecHost>(place.host_options(KeeperPlacement::child));
  Request request;
  request.argv = argv;
  (where == "node" ? request.tier : request.backend) = where;
  const auto check = [](const ExecResult& result) {
    if (result.status != Status::exited || result.exit_code != 0) throw std::runtime_error(result.to_json());
  };
  check(host->run(request));
  return [host, request, runs, at_once, check] {
    std::deque<Execution> running;
    const Stopwatch watch;
    for (int i = 0; i < runs; ++i) {
      if (running.size() == static_cast<std::size_t>(at_once)) {
        check(running.front().wait());
        running.pop_front();
      }
      auto started = host->start(request);
      if (!started) throw std::runtime_error(describe(started.error()));
      running.push_back(std::move(*started));
    }
    for (Execution& execution : running) check(execution.wait());
    return watch.microseconds();
  };
}

}  // namespace exechost::bench

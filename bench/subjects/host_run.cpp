#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "bench/spawn.hpp"
#include "bench/subjects/subjects.hpp"

namespace exechost::bench {

Once raw_spawn(const Place& place) {
  return [&place] { return spawn_and_wait({"/bin/true"}, place.environment(), place.workspace()); };
}

Once host_run(const Place& place, const std::string& where, KeeperPlacement keeper, Lasting lasting) {
  auto host = std::make_shared<ExecHost>(place.host_options(keeper));
  Request request;
  request.argv = {"/bin/true"};
  (where == "node" ? request.tier : request.backend) = where;
  if (lasting == Lasting::no) request.settings_json = R"({"session": {"persistent": false}})";
  const auto once = [host, request] {
    const Stopwatch watch;
    const ExecResult result = host->run(request);
    const double took = watch.microseconds();
    if (result.status != Status::exited || result.exit_code != 0) throw std::runtime_error(result.to_json());
    return took;
  };
  if (lasting == Lasting::yes) once();
  return once;
}

Once command_line_run(const Place& place) {
  return [&place, program = built("bin/exechost")] {
    return spawn_and_wait({program, "run", "--", "/bin/true"}, place.environment(), place.workspace());
  };
}

}  // namespace exechost::bench

#include "bench/subjects/subjects.hpp"

namespace exechost::bench {

Once dispatch(const Place& place, KeeperPlacement keeper) { return host_run(place, "noop", keeper, Lasting::no); }

}  // namespace exechost::bench

// Starts a keeper where it was asked for and gives the socket to talk to it.
#pragma once

#include <memory>
#include <string>

#include "core/base/unique_fd.hpp"
#include "core/keeper/detached.hpp"
#include "core/keeper/keeper.hpp"
#include "exechost/failure.hpp"
#include "exechost/host.hpp"

namespace exechost::keeper {

// A running keeper. Destroying it closes nothing by itself: the client's socket does; the
// destructor then waits until the keeper has ended (10 s at most, then a child is killed).
class RunningKeeper {
 public:
  virtual ~RunningKeeper() = default;
  // To be given to Client, once.
  virtual UniqueFd take_socket() = 0;
  // The child's pid; 0 for a thread of this process.
  virtual int pid() const = 0;
  // It has ended, and is not this process's child to wait for.
  virtual bool has_ended() const { return false; }
};

// `keeper_program` is needed for the child placement only (posix_spawn, no fork). In process,
// `unavailable` when this process has SIGCHLD ignored: no child's end could be learned.
Result<std::unique_ptr<RunningKeeper>> start(KeeperPlacement placement, const std::string& keeper_program,
                                             const KeeperOptions& options);

// The detached keeper at that place (connect_detached). Destroying it leaves it running, and every named session in it.
Result<std::unique_ptr<RunningKeeper>> join_detached(const DetachedPlace& place, const std::string& keeper_program,
                                                     const KeeperOptions& options);

}  // namespace exechost::keeper

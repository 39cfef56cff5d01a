// Where an execution gets its environment from: opened for it alone (one_shot.hpp), shared within a
// session (shared.hpp), later taken from a warm pool. The execution sees no difference.
// Everything is called on the reactor thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/keeper/messages.hpp"
#include "core/plan/plan.hpp"

namespace exechost::environment {

struct EnvironmentRequest {
  std::shared_ptr<const plan::Plan> plan;
  keeper::PluginChoice plugin;
  std::string guest_path;  // on this machine
  std::int64_t deadline_ns = INT64_MAX;
};

// An environment that an execution may use until it releases it.
struct Lease {
  std::uint64_t environment = 0;  // the keeper's number
  std::string id;                 // the ledger's
  std::string workspace;          // of a named session's: paths in it begin there; else empty
  bool served = false;            // by its own guest, which is confined: commands are like it
  bool reused = false;            // it was there before this execution asked
  bool replaces_lost = false;     // the session had one, which was lost: by itself, or with its keeper
};

struct Acquired {
  keeper::ReplyStatus status = keeper::ReplyStatus::failed;
  Lease lease;      // for ok
  Failure failure;  // for failed
};

// How an execution leaves an environment.
enum class Release {
  intact,   // nothing of the execution is left in it; it may be used again
  destroy,  // something may be left: it must go
};

class EnvironmentSource {
 public:
  using Ticket = std::uint64_t;
  virtual ~EnvironmentSource() = default;
  // `handler` is called exactly once, not before acquire returns.
  virtual Ticket acquire(EnvironmentRequest request, std::function<void(Acquired)> handler) = 0;
  // The handler of that acquire gets `cancelled`, unless it was already decided otherwise.
  virtual void cancel(Ticket acquisition) = 0;
  // `handler` is called exactly once, when the environment is gone (or kept by whoever shares it).
  virtual void release(const Lease& lease, Release how, std::int64_t deadline_ns,
                       std::function<void(keeper::Reply)> handler) = 0;
};

}  // namespace exechost::environment

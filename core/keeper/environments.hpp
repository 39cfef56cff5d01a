// The environments that somebody in this keeper answers for: one connection, or the named sessions. Opens and closes
// them by a plugin's calls on workers. On the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "core/keeper/core.hpp"
#include "core/keeper/environment.hpp"
#include "core/keeper/messages.hpp"
#include "core/keeper/operations.hpp"

namespace exechost::keeper {

class Environments {
 public:
  using Closed = std::function<void(CallResult)>;
  // `environment` is set exactly when the ending's result is ok, even when it was stopped: whoever asked decides what
  // becomes of it then.
  using Opened = std::function<void(const Operations::Ending& ending, const std::shared_ptr<Environment>& environment)>;

  // `operations` outlives it. `changed` is called whenever one is gone, or could not be closed.
  Environments(std::shared_ptr<Core> core, Operations& operations, std::function<void()> changed)
      : core_(std::move(core)), operations_(operations), changed_(std::move(changed)) {}
  ~Environments();
  Environments(const Environments&) = delete;
  Environments& operator=(const Environments&) = delete;

  // By the operation `id`, which has begun.
  void open(Operations::Id id, OpenRequest request, const Opened& opened);
  // Kills what runs in it, closes it, forgets it when that succeeded. `closed` is called once, at the latest 2 s
  // after the deadline. 0: it had begun to be closed before (then `closed` is called with what comes of that), or
  // could not begin.
  Operations::Id end(const std::shared_ptr<Environment>& environment, bool purge, std::int64_t deadline_ns,
                     Closed closed);
  // All that are not being closed already; for when nobody waits for an answer.
  void end_all(std::int64_t deadline_ns);

  // Null: there is none of that number.
  std::shared_ptr<Environment> find(std::uint64_t number) const;
  // None is being closed; those that are left failed to.
  bool settled() const;

 private:
  const std::shared_ptr<Core> core_;
  Operations& operations_;
  const std::function<void()> changed_;
  std::map<std::uint64_t, std::shared_ptr<Environment>> open_;
};

}  // namespace exechost::keeper

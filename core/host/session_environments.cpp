#include "core/host/session_environments.hpp"

#include <algorithm>
#include <future>

namespace exechost::host {

SessionEnvironments::~SessionEnvironments() {
  // Their timers are the reactor's.
  std::promise<void> dropped;
  reactor_.post([this, &dropped] {
    kept_.clear();
    dropped.set_value();
  });
  dropped.get_future().wait();
}

std::shared_ptr<environment::EnvironmentSource> SessionEnvironments::of(
    const std::shared_ptr<environment::KeeperPort>& keeper) {
  // A keeper that died was replaced; what it had open ended with it.
  std::erase_if(kept_, [](const Kept& kept) { return kept.keeper.expired(); });
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&keeper](const Kept& kept) { return kept.keeper.lock() == keeper; });
  if (found != kept_.end()) return found->environments;
  kept_.push_back({keeper, environment::make_shared_environments(reactor_, keeper, places_)});
  return kept_.back().environments;
}

}  // namespace exechost::host

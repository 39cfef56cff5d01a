#include "core/keeper/shell/turns.hpp"

#include <algorithm>
#include <utility>

namespace exechost::keeper::shell {

void Turns::enter(Id& id, std::function<void()> go) {
  id = ++last_;
  line_.push_back({id, std::move(go)});
  advance();
}

void Turns::leave(Id id) {
  const auto found =
      std::find_if(line_.begin(), line_.end(), [id](const Waiting& waiting) { return waiting.id == id; });
  if (found == line_.end()) return;
  line_.erase(found);
  advance();
}

// Who goes may leave at once, and the next one, too: a walk, not a recursion.
void Turns::advance() {
  if (std::exchange(advancing_, true)) return;
  while (!line_.empty() && line_.front().go) std::exchange(line_.front().go, nullptr)();
  advancing_ = false;
}

}  // namespace exechost::keeper::shell

// Killing a tree by looking at it, for when the guest does not react. Internal to this module.
#pragma once

namespace exechost::node {

// SIGKILL to every process below the one behind `pidfd`, not to itself: a few rounds, at most some
// milliseconds. What forks faster, or belongs to another user, is left: this is no proof of anything.
// [any thread]
void kill_descendants(int pidfd);

}  // namespace exechost::node

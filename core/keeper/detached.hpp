// A keeper of its own for a user: not of one host, but for every program of that user that connects to its socket. It
// has the named sessions, which outlive the programs that use them.
#pragma once

#include <string>

#include "core/keeper/keeper.hpp"

namespace exechost::keeper {

// Where it is found: NAME.sock in a folder that is this user's alone.
struct DetachedPlace {
  std::string folder;
  std::string name;
};

// Exit statuses of the program that starts one.
inline constexpr int kDetachedServes = 0;       // a keeper listens there now, in the background
inline constexpr int kDetachedCantServe = 1;    // the folder or the socket can't be made
inline constexpr int kDetachedOtherServes = 3;  // one has that place already, or still

// In the program exechost-keeper, before it has threads. Returns an exit status: in the starting process at once, in
// the keeper (a child of it) when nobody has used it for a while, or a signal (TERM, INT, HUP) has ended it.
int run_detached(const DetachedPlace& place, const KeeperOptions& options);

}  // namespace exechost::keeper

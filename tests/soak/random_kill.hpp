// Kills one of the processes of a host that runs several commands (kill_host.cpp), at an instant that nobody chose, and
// looks for whatever is left or wrong afterwards; again and again.
#pragma once

#include <string_view>

namespace exechost::test {

enum class Victim {
  host,             // and with it, by chance, the keeper that is a thread of it
  child_keeper,     // of the runs without a session's name
  detached_keeper,  // of the named session
  guest,            // that serves in one of the two environments
  shell,            // of a script
};

// The instants are spread over the host's life, and their seed is printed: EXECHOST_KILL_SEED repeats them.
void kill_at_random_instants(Victim victim, int instants);

}  // namespace exechost::test

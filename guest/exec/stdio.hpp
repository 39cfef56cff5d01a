// Where the command's standard input, output and error are while the guest starts.
#pragma once

namespace exechost::guest {

// A launcher that needs its own 0, 1 and 2 hands the command's over under other numbers.
struct CommandStdio {
  int fds[3] = {0, 1, 2};
};

}  // namespace exechost::guest

// Where the command's standard input, output and error are while the guest starts.
#pragma once

namespace exechost::guest {

// Of a served command: where further descriptors are until the specification's places for them are filled.
inline constexpr int kFirstFurtherFd = 4;

// A launcher that needs its own 0, 1 and 2 hands the command's over under other numbers.
struct CommandStdio {
  int fds[3] = {0, 1, 2};
  int further = 0;
};

}  // namespace exechost::guest

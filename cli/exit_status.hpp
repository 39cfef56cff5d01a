// The exit status of `exechost run`: the command's own wherever there is one.
#pragma once

#include "exechost/exec_result.hpp"

namespace exechost::cli {

inline constexpr int kExitTimedOut = 124;
inline constexpr int kExitFailure = 125;        // ExecHost's own failure; usage errors of `run` too
inline constexpr int kExitNotExecutable = 126;  // denied, or the program could not be executed
inline constexpr int kExitNotFound = 127;       // there is no such program
inline constexpr int kExitSignalBase = 128;
inline constexpr int kExitUsage = 2;  // usage errors of every command but `run`

//   exited                          the command's own status
//   timed_out                       124
//   cancelled                       128 + interrupt_signal: 130 INT, 143 TERM, 129 HUP, 131 QUIT
//   signaled                        128 + its signal
//   resource_exhausted              128 + its signal when one ended it, else 125
//   failed: spawn_failed, exec      127 for ENOENT, 126 for another errno
//   failed: denied                  126
//   failed: anything else           125
//
// `interrupt_signal`: the first signal that asked this program to end; 0 when there was none.
// A command may itself end with 124 to 127: `--json` tells them apart.
int exit_status(const ExecResult& result, int interrupt_signal = 0);

}  // namespace exechost::cli

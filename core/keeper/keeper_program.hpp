// Starts the program exechost-keeper by posix_spawn(3): no fork in a process that may be big.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "exechost/failure.hpp"

namespace exechost::keeper {

inline constexpr int kKeeperSocket = 3;  // the program's descriptor of its socket

// In a session of its own, with every signal as at first; standard input and output are /dev/null. `socket`: becomes
// its descriptor kKeeperSocket, or -1. It is a child of this process, which has to wait for it.
Result<pid_t> spawn_keeper_program(const std::string& program, std::vector<std::string> arguments, int socket,
                                   char* const* environment);

}  // namespace exechost::keeper

// A pseudo-terminal made for one command: its slave goes into the environment, its master
// stays with the host.
#pragma once

#include <cstdint>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::execution {

struct Pty {
  UniqueFd master;  // non-blocking
  UniqueFd slave;   // not anybody's controlling terminal yet
};

// spawn_failed with step "pty" and errno.
Result<Pty> make_pty(std::uint16_t rows, std::uint16_t columns);
// Sets the window size; the kernel sends SIGWINCH to the terminal's foreground group.
Result<void> resize_pty(int master, std::uint16_t rows, std::uint16_t columns);

}  // namespace exechost::execution

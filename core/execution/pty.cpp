#include "core/execution/pty.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdlib>

#include "core/execution/pipes.hpp"

namespace exechost::execution {

Result<Pty> make_pty(std::uint16_t rows, std::uint16_t columns) {
  Pty pty;
  pty.master.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pty.master) return unexpected(preparation_failure("pty", "a pseudo-terminal could not be made", errno));
  if (::grantpt(pty.master.get()) != 0 || ::unlockpt(pty.master.get()) != 0) {
    return unexpected(preparation_failure("pty", "a pseudo-terminal could not be unlocked", errno));
  }
  // By the master itself, not by name: the name may mean another device in this mount namespace.
  pty.slave.reset(::ioctl(pty.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pty.slave) return unexpected(preparation_failure("pty", "a pseudo-terminal's slave could not be opened", errno));
  if (!make_nonblocking(pty.master.get())) {
    return unexpected(preparation_failure("pty", "a pseudo-terminal could not be set up", errno));
  }
  if (auto sized = resize_pty(pty.master.get(), rows, columns); !sized) return unexpected(sized.error());
  return pty;
}

Result<void> resize_pty(int master, std::uint16_t rows, std::uint16_t columns) {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = columns;
  if (::ioctl(master, TIOCSWINSZ, &size) != 0) {
    return unexpected(preparation_failure("pty", "the terminal's size could not be set", errno));
  }
  return {};
}

}  // namespace exechost::execution

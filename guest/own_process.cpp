#include "guest/own_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <csignal>

#include "guest/protocol.hpp"

namespace exechost::guest {

bool has_control_socket() {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(kControlFd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

void protect_process() {
  ::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
  // Whatever it is called inside; for people who look at processes.
  ::prctl(PR_SET_NAME, "exechost-guest", 0UL, 0UL, 0UL);
  ::fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    static_cast<void>(::signal(number, SIG_DFL));  // fails for KILL and STOP
  }
  sigset_t every;
  ::sigfillset(&every);
  ::sigprocmask(SIG_SETMASK, &every, nullptr);
}

int child_signals() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  return ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace exechost::guest

#include "guest/exec/exec_mode.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "guest/confine/landlock.hpp"
#include "guest/confine/mounts.hpp"
#include "guest/confine/privileges.hpp"
#include "guest/confine/seccomp.hpp"
#include "guest/confine/view.hpp"
#include "guest/control.hpp"
#include "guest/exec/command.hpp"
#include "guest/exec/process_tree.hpp"
#include "guest/exec/supervisor.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

namespace {

// Nothing of what the launcher left behind counts: every disposition is the default (a SIGCHLD
// that is ignored would lose the command's status), every signal is blocked, and only SIGCHLD is
// read. So a signal from inside, SIGTERM or SIGHUP say, does nothing to the guest.
int take_signals() {
  for (int number = 1; number < NSIG; ++number) {
    static_cast<void>(::signal(number, SIG_DFL));  // fails for KILL and STOP
  }
  sigset_t every;
  ::sigfillset(&every);
  ::sigprocmask(SIG_SETMASK, &every, nullptr);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  return ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

// The order and its reasons: docs/guest.md.
Outcome confine(const Spec& spec, Message& confined) {
  if (const Outcome outcome = cut_off_mounts(); !outcome.ok()) return outcome;
  if (const Outcome outcome = check_view(spec); !outcome.ok()) return outcome;
  if (const Outcome outcome = set_no_new_privs(); !outcome.ok()) return outcome;
  if (const Outcome outcome = drop_capabilities(); !outcome.ok()) return outcome;
  if (const Outcome outcome = apply_landlock(spec, confined.landlock_abi); !outcome.ok()) return outcome;
  if (spec.seccomp) {
    if (const Outcome outcome = install_seccomp(); !outcome.ok()) return outcome;
    confined.seccomp = 1;
  }
  return success();
}

// The guest must not keep the command's pipes open: who reads or writes the other ends has to
// see when the command closes its own.
void let_go_of_stdio(const CommandStdio& stdio) {
  for (const int fd : stdio.fds) ::close(fd);
}

Outcome start(const CommandStdio& stdio, int signal_fd, ProcessTree& tree, StartedCommand& command) {
  if (signal_fd < 0) return failure(Step::descriptors, errno);
  int spec_fd = -1;
  if (const Outcome outcome = receive_spec(spec_fd); !outcome.ok()) {
    ::close(spec_fd);
    return outcome;
  }
  Spec spec;
  if (const Outcome outcome = read_spec(spec_fd, spec); !outcome.ok()) return outcome;
  if (const Outcome outcome = tree.prepare(); !outcome.ok()) return outcome;
  Message confined;
  confined.type = MessageType::confined;
  confined.version = kProtocolVersion;
  if (!spec.unconfined) {
    if (const Outcome outcome = confine(spec, confined); !outcome.ok()) return outcome;
  }
  send(confined);
  // It may have died while the environment was made: then nobody wants the command any more.
  if (keeper_is_gone()) return failure(Step::fork, ECONNRESET);
  return start_command(spec, stdio, tree, command);
}

bool is_control_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

}  // namespace

int run_exec_mode(const CommandStdio& stdio, const char* cgroup) {
  if (!is_control_socket(kControlFd)) return kExitUsage;
  // First of all: same-uid processes can't trace the guest or open its memory and descriptors.
  ::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
  // Whatever it is called inside; for people who look at processes.
  ::prctl(PR_SET_NAME, "exechost-guest", 0UL, 0UL, 0UL);
  ::fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
  const int signal_fd = take_signals();
  ProcessTree tree(cgroup);
  StartedCommand command;
  if (const Outcome outcome = start(stdio, signal_fd, tree, command); !outcome.ok()) {
    tree.remove_cgroup();
    send_failed(outcome);
    return kExitNotStarted;
  }
  let_go_of_stdio(stdio);
  return supervise(command, tree, signal_fd);
}

}  // namespace exechost::guest

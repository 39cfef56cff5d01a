#include "guest/exec/exec_mode.hpp"

#include <unistd.h>

#include <cerrno>

#include "guest/confine/confine.hpp"
#include "guest/control.hpp"
#include "guest/exec/command.hpp"
#include "guest/exec/process_tree.hpp"
#include "guest/exec/supervisor.hpp"
#include "guest/own_process.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

namespace {

// The guest must not keep the command's pipes open: who reads or writes the other ends has to
// see when the command closes its own.
void let_go_of_streams(const CommandStdio& stdio) {
  for (const int fd : stdio.fds) ::close(fd);
  for (int i = 0; i < stdio.further; ++i) ::close(kFirstFurtherFd + i);
}

// Reads the specification; `confined` is what holds for the command once this has succeeded.
Outcome prepare(ProcessTree& tree, Spec& spec, bool served, Message& confined) {
  int spec_fd = -1;
  if (const Outcome outcome = receive_spec(spec_fd); !outcome.ok()) {
    ::close(spec_fd);
    return outcome;
  }
  if (const Outcome outcome = read_spec(spec_fd, spec); !outcome.ok()) return outcome;
  if (const Outcome outcome = tree.prepare(served); !outcome.ok()) return outcome;
  if (!spec.unconfined && !spec.inherited) return confine(spec, confined);
  return success();
}

int run(const CommandStdio& stdio, const char* cgroup, Message confined, bool served) {
  const int signal_fd = child_signals();
  ProcessTree tree(cgroup);
  Spec spec;
  Outcome outcome = signal_fd < 0 ? failure(Step::descriptors, errno) : prepare(tree, spec, served, confined);
  // Only a guest that serves can have commands that inherit, and beside others everything of one has to be found.
  if (outcome.ok() && spec.inherited != served) outcome = failure(Step::read_spec, EPROTO);
  if (outcome.ok() && spec.place_count != stdio.further) outcome = failure(Step::read_spec, EPROTO);
  if (outcome.ok() && served && !tree.sees_children()) outcome = failure(Step::tree, ENOSYS);
  StartedCommand command;
  if (outcome.ok()) {
    send(confined);
    // It may have died while the environment was made: then nobody wants the command any more.
    outcome = keeper_is_gone() ? failure(Step::fork, ECONNRESET) : start_command(spec, stdio, tree, command);
  }
  if (!outcome.ok()) {
    tree.remove_cgroup();
    send_failed(outcome);
    return kExitNotStarted;
  }
  let_go_of_streams(stdio);
  return supervise(command, tree, signal_fd);
}

}  // namespace

int run_exec_mode(const CommandStdio& stdio, const char* cgroup) {
  if (!has_control_socket()) return kExitUsage;
  protect_process();  // first of all
  reset_signals();
  Message confined;
  confined.type = MessageType::confined;
  confined.version = kProtocolVersion;
  return run(stdio, cgroup, confined, false);
}

int run_served_command(const Message& confined, int further, const char* cgroup) {
  CommandStdio stdio;
  stdio.further = further;
  return run(stdio, cgroup, confined, true);
}

}  // namespace exechost::guest

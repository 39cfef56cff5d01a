#include "tests/mutants/launch.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mutants {

namespace sdk = exechost::sdk;

namespace {

sdk::Failure no_pipes(int error) {
  sdk::Failure failure;
  failure.kind = sdk::Kind::spawn_failed;
  failure.phase = sdk::Phase::spawn;
  failure.error_number = error;
  failure.step = "pipe";
  failure.message = "no pipes for the runner";
  return failure;
}

}  // namespace

sdk::Outcome<Launched> launch(sdk::Host host, const Launch& what, const sdk::Call& call) {
  int status[2];
  int leash[2];
  if (::pipe2(status, O_CLOEXEC) != 0) return no_pipes(errno);
  Launched launched;
  launched.status.reset(status[0]);
  const sdk::Fd status_end(status[1]);
  // A socket: writing to one whose other end has gone needs no signal.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leash) != 0) return no_pipes(errno);
  const sdk::Fd leash_end(leash[0]);
  launched.leash.reset(leash[1]);
  ::fcntl(launched.status.get(), F_SETFL, O_NONBLOCK);

  sdk::ProcessSpec spec;
  spec.arguments = {what.runner};
  spec.arguments.insert(spec.arguments.end(), what.options.begin(), what.options.end());
  if (what.control >= 0) spec.arguments.emplace_back("--guest");
  spec.arguments.emplace_back("--");
  spec.arguments.insert(spec.arguments.end(), what.command.arguments.begin(), what.command.arguments.end());
  spec.environment = what.command.environment;
  spec.working_directory = what.command.folder;
  spec.descriptors = what.streams;
  for (const int fd : {what.control, status_end.get(), leash_end.get()}) spec.descriptors.push_back(fd);
  if (what.extra >= 0) spec.descriptors.push_back(what.extra);
  sdk::Outcome<sdk::Process> process = host.spawn(spec, call);
  if (!process) return process.failure();
  launched.process = std::move(*process);
  return launched;
}

std::vector<std::string> reach_options(Fault fault) {
  switch (fault) {
    case Fault::leaks_grandchildren: return {"--at-end=process", "--on-kill=process"};
    case Fault::leaks_setsid_children: return {"--at-end=group", "--on-kill=group"};
    case Fault::leaks_after_timeout: return {"--on-kill=process"};
    default: return {"--namespaces"};
  }
}

}  // namespace mutants

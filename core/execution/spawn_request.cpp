#include "core/execution/spawn_request.hpp"

#include <fmt/format.h>

#include "core/plan/shell_words.hpp"

namespace exechost::execution {

keeper::SpawnRequest spawn_request(const plan::Plan& plan, const environment::Lease& lease) {
  keeper::SpawnRequest request;
  request.environment = lease.environment;
  request.argv = plan.script ? plan::script_words(plan.argv.front(), plan.argv.back()) : plan.argv;
  for (const auto& [name, value] : plan.environment) request.variables.push_back(fmt::format("{}={}", name, value));
  // Who joins a session that was opened elsewhere is where it was opened, unless a folder was asked for.
  const bool elsewhere = plan.builtin && plan.cwd == plan.workspace && !lease.workspace.empty();
  request.cwd = elsewhere ? lease.workspace : plan.cwd;
  request.tty = plan.tty;
  request.use_guest = plan.guest != plan::GuestEntry::none;
  request.builtin = plan.builtin;
  if (!lease.served) {
    request.confinement = plan.confinement;
    return request;
  }
  // The rest holds for the environment already.
  request.shell = plan.shell;
  request.confinement.none = plan.confinement.none;
  request.confinement.seccomp_profile = plan.confinement.seccomp_profile;
  request.confinement.landlock = plan.confinement.landlock;
  request.confinement.landlock_required = plan.confinement.landlock_required;
  request.confinement.rlimits = plan.confinement.rlimits;
  return request;
}

}  // namespace exechost::execution

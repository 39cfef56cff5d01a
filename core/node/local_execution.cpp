#include "core/node/local_execution.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "core/node/descendants.hpp"
#include "guest/exec/supervisor.hpp"

namespace exechost::node {
namespace {

constexpr std::int64_t kPatienceNs = 2'000'000'000;  // with a killed cgroup

}  // namespace

LocalExecution::~LocalExecution() {
  if (!guest_.try_wait()) signal(SIGKILL);
  // guest_ is killed next; a cgroup that is not empty yet is the environment's to remove.
}

sdk::Outcome<std::optional<sdk::Event>> LocalExecution::wait(const sdk::Call& /*call*/) {
  const std::optional<int> status = guest_.try_wait();
  if (!status) return std::optional<sdk::Event>();
  // The guest ends by itself only when its tree is gone, or when it has to say that it may not be.
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) == guest::kExitNotProven) return unproven(*status);
  sdk::Event event;
  event.kind = sdk::Event::Kind::ended;
  event.wait_status = *status;
  return std::optional<sdk::Event>(event);
}

sdk::Outcome<std::optional<sdk::Event>> LocalExecution::unproven(int wait_status) {
  if (cgroups_.any()) {
    cgroups_.kill();
    if (cgroups_.remove()) {
      sdk::Event event;
      event.kind = sdk::Event::Kind::ended;
      event.wait_status = wait_status;
      return std::optional<sdk::Event>(event);
    }
    if (give_up_ns_ == 0) give_up_ns_ = host_.now_ns() + kPatienceNs;
    if (host_.now_ns() < give_up_ns_) return std::optional<sdk::Event>();
  }
  sdk::Failure failure;
  failure.kind = sdk::Kind::environment_lost;
  failure.phase = sdk::Phase::run;
  failure.step = "kill";
  failure.message =
      WIFSIGNALED(wait_status)
          ? "the process that supervises commands was killed: something that a command started may be left"
          : "not everything that the command started could be ended: something of it may be left";
  failure.hint = "a process of another user (sudo) can't be killed; look for it with ps";
  return failure;
}

int LocalExecution::signal(int number) {
  if (number != SIGKILL) return -ENOTSUP;
  // The command may have stopped its guest, which is of the same user. Killing the guest itself would
  // cost the proof: it ends when nothing of the tree is left.
  const int sent = guest_.signal(SIGCONT);
  cgroups_.kill();
  kill_descendants(guest_.pidfd());
  return sent;
}

}  // namespace exechost::node

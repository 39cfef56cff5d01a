// A guest of the node tier: one that starts a single command, or one that serves those of a session.
#pragma once

#include <cstdint>
#include <optional>

#include "core/node/cgroup.hpp"
#include "exechost/backend.hpp"

namespace exechost::node {

class LocalExecution final : public sdk::Execution {
 public:
  // `cgroups`: of what it started, as far as there are any.
  LocalExecution(sdk::Host host, sdk::Process guest, CommandCgroups cgroups)
      : host_(host), guest_(std::move(guest)), cgroups_(std::move(cgroups)) {}
  ~LocalExecution() override;

  int event_fd() override { return guest_.pidfd(); }
  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& call) override;
  // 9 only; everything else is the guest's to pass on.
  int signal(int number) override;

 private:
  sdk::Outcome<std::optional<sdk::Event>> unproven(int wait_status);

  sdk::Host host_;
  sdk::Process guest_;
  CommandCgroups cgroups_;
  std::int64_t give_up_ns_ = 0;  // 0: the guest has not ended without proof
};

}  // namespace exechost::node

// One command of the node tier: the guest that started it, and its cgroup where it has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exechost/backend.hpp"

namespace exechost::node {

class LocalExecution final : public sdk::Execution {
 public:
  // `cgroup`: its path; empty: it has none.
  LocalExecution(sdk::Host host, sdk::Process guest, std::string cgroup)
      : host_(host), guest_(std::move(guest)), cgroup_(std::move(cgroup)) {}
  ~LocalExecution() override;

  int event_fd() override { return guest_.pidfd(); }
  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& call) override;
  // 9 only; everything else is the guest's to pass on.
  int signal(int number) override;

 private:
  sdk::Outcome<std::optional<sdk::Event>> unproven(int wait_status);

  sdk::Host host_;
  sdk::Process guest_;
  std::string cgroup_;
  std::int64_t give_up_ns_ = 0;  // 0: the guest has not ended without proof
};

}  // namespace exechost::node

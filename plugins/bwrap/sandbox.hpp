// One bwrap process with a guest inside: an execution of the bwrap backend.
#pragma once

#include <optional>
#include <string>

#include "exechost/backend.hpp"

namespace exechost::bwrap {

class Sandbox final : public sdk::Execution {
 public:
  // `diagnostics`: read end of bwrap's own standard error. `status`: read end of --json-status-fd.
  Sandbox(sdk::Process process, sdk::Fd diagnostics, sdk::Fd status);
  ~Sandbox() override;

  // Waits (1 s at most) until bwrap has told the number of process 1, and opens a pidfd of it: from
  // then on everything can be killed whatever becomes of bwrap. Once, before anything else.
  void learn_init();

  // bwrap ends after it has reaped process 1, and process 1 ends after the kernel has ended every
  // other process of its PID namespace (pid_namespaces(7)): bwrap's end is the proof that nothing is left.
  int event_fd() override { return process_.pidfd(); }
  sdk::Outcome<std::optional<sdk::Event>> wait(const sdk::Call& call) override;
  // 9 kills process 1 and with it everything. Other signals are the guest's business.
  int signal(int number) override;

 private:
  int kill_everything();
  // bwrap itself was killed by somebody else: what it would have waited for.
  bool init_is_left();

  sdk::Process process_;
  sdk::Fd diagnostics_;
  sdk::Fd status_;
  sdk::Fd init_;  // set by learn_init only
};

}  // namespace exechost::bwrap

// The command that runs, as the signal watcher sees it: there from before it was started until
// after it ended.
#pragma once

#include <mutex>
#include <optional>

#include "cli/signal_watcher.hpp"
#include "cli/terminal.hpp"
#include "exechost/host.hpp"

namespace exechost::cli {

class RunningCommand final : public SignalReceiver {
 public:
  // `terminal` null: the command has none of ours.
  explicit RunningCommand(const RawTerminal* terminal) : terminal_(terminal) {}

  // The execution exists now; a signal that came before it cancels it. It must outlive the watcher.
  void attach(Execution& execution);

  bool forward(int number) override;
  void cancel(int first_signal) override;
  void window_changed() override;
  void suspend() override;

 private:
  std::mutex mutex_;
  Execution* execution_ = nullptr;
  const RawTerminal* terminal_;
  bool cancel_asked_ = false;
};

}  // namespace exechost::cli

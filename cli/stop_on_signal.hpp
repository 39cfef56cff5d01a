// For a command of this program that runs several things and has to clear up behind them: the first INT, TERM,
// HUP or QUIT asks it to stop, the second ends it at once.
#pragma once

#include <unistd.h>

#include <stop_token>

#include "cli/exit_status.hpp"
#include "cli/signal_watcher.hpp"

namespace exechost::cli {

// Outlives the SignalWatcher that it is given to.
class StopOnSignal final : public SignalReceiver {
 public:
  std::stop_token token() const { return stop_.get_token(); }
  bool forward(int /*number*/) override { return false; }
  // Also when the watcher's grace has passed.
  void cancel(int first_signal) override {
    if (!stop_.request_stop()) ::_exit(kExitSignalBase + first_signal);
  }
  void window_changed() override {}
  void suspend() override {}

 private:
  std::stop_source stop_;
};

}  // namespace exechost::cli

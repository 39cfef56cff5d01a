// Signals to this program while a command runs: passed on, then enforced.
//
// The first INT, TERM, HUP or QUIT goes to the command's process group. The command may clean up
// and end by itself; a second such signal, or the end of the grace time, kills its whole tree.
#pragma once

#include <chrono>
#include <csignal>
#include <thread>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::cli {

// What is done about signals. Called on the watcher's thread, one call at a time.
class SignalReceiver {
 public:
  virtual ~SignalReceiver() = default;
  // To the command's process group; false when there is nothing yet to send it to: then it is
  // cancelled at once.
  virtual bool forward(int number) = 0;
  // Kills the whole tree. May be called again.
  virtual void cancel(int first_signal) = 0;
  virtual void window_changed() = 0;
  // The terminal's owner asked this program to stop (TSTP).
  virtual void suspend() = 0;
};

// Holds back the signals from every thread started after it; made before any other thread. A
// signal that was ignored when the program started (nohup, a shell's background job) stays ignored.
class SignalWatcher {
 public:
  // `whole_terminal`: the command owns the terminal; TSTP and WINCH are taken too.
  explicit SignalWatcher(bool whole_terminal);
  ~SignalWatcher();  // stops the thread and restores the signal mask
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  // Starts the thread; once. `receiver` must outlive stop(). Fails with `unavailable` when there are
  // no descriptors for it: nothing is watched then.
  Result<void> start(SignalReceiver& receiver, std::chrono::milliseconds grace);
  // After it returns the receiver is not called any more. The first signal that asked the program
  // to end; 0 when there was none.
  int stop();

 private:
  void watch(SignalReceiver& receiver, std::chrono::milliseconds grace);
  void handle(SignalReceiver& receiver, int number);

  sigset_t old_mask_{};
  int error_ = 0;  // errno of a descriptor that could not be made
  UniqueFd signals_;
  UniqueFd stop_;  // an eventfd
  std::thread thread_;
  int first_signal_ = 0;  // of the watcher's thread until stop()
  std::chrono::steady_clock::time_point kill_at_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace exechost::cli

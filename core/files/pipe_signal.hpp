// While it lives a pipe without a reader is EPIPE on this thread, and no signal.
#pragma once

#include <csignal>

namespace exechost::files {

class NoPipeSignal {
 public:
  NoPipeSignal();
  ~NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace exechost::files

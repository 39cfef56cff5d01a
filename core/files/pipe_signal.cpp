#include "core/files/pipe_signal.hpp"

#include <ctime>

namespace exechost::files {
namespace {

sigset_t only_pipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

bool pending() {
  sigset_t set;
  sigemptyset(&set);
  return sigpending(&set) == 0 && sigismember(&set, SIGPIPE) == 1;
}

}  // namespace

NoPipeSignal::NoPipeSignal() : was_pending_(pending()) {
  const sigset_t set = only_pipe();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

NoPipeSignal::~NoPipeSignal() {
  // The one that a write of ours caused is nobody's.
  if (!was_pending_ && pending()) {
    const sigset_t set = only_pipe();
    const timespec now{};
    sigtimedwait(&set, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace exechost::files

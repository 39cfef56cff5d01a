#include "guest/serve/stream_mode.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "guest/exec/supervisor.hpp"
#include "guest/own_process.hpp"
#include "guest/serve/stream_server.hpp"

namespace exechost::guest {

namespace {

// The streams at 0, 1 and 2, whatever they were, and nothing else of what the launcher had open.
bool take_streams(const CommandStdio& stdio) {
  constexpr int kAbove = 64;
  int moved[3];
  for (int i = 0; i < 3; ++i) {
    moved[i] = ::fcntl(stdio.fds[i], F_DUPFD_CLOEXEC, kAbove);
    if (moved[i] < 0 && i == STDERR_FILENO) moved[i] = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (moved[i] < 0) return false;
  }
  for (int i = 0; i < 3; ++i) {
    if (moved[i] != i && ::dup3(moved[i], i, O_CLOEXEC) < 0) return false;
  }
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) != 0) {
    constexpr int kHighest = 65536;  // a kernel before 5.9
    for (int fd = 3; fd < kHighest; ++fd) ::close(fd);
  }
  for (int i = 0; i < 2; ++i) {
    if (::fcntl(i, F_SETFL, ::fcntl(i, F_GETFL) | O_NONBLOCK) != 0) return false;
  }
  return true;
}

}  // namespace

int run_stream_mode(const CommandStdio& stdio) {
  protect_process();  // first of all
  reset_signals();
  if (!take_streams(stdio)) return kExitUsage;
  const int signal_fd = child_signals();
  if (signal_fd < 0) return kExitNotStarted;
  // Too large for a stack, and of fixed size.
  void* const memory =
      ::mmap(nullptr, sizeof(StreamServer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kExitNotStarted;
  return (new (memory) StreamServer(STDIN_FILENO, STDOUT_FILENO, signal_fd))->run();
}

}  // namespace exechost::guest

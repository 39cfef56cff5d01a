#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

namespace exechost::cli {
namespace {

constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// A signal handler has no other way to its data.
struct FaultState {
  std::atomic<int> descriptor{-1};
  termios saved{};
};
FaultState fault_state;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Installed with SA_RESETHAND: the fault happens again and ends the program as it would have.
void restore_after_fault(int number) {
  const int descriptor = fault_state.descriptor.exchange(-1);
  if (descriptor >= 0) ::tcsetattr(descriptor, TCSANOW, &fault_state.saved);
  static_cast<void>(::raise(number));
}

void guard_faults(int descriptor, const termios& saved) {
  fault_state.saved = saved;
  fault_state.descriptor = descriptor;
  struct sigaction action {};
  action.sa_handler = restore_after_fault;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int number : kFaults) ::sigaction(number, &action, nullptr);
}

}  // namespace

std::optional<TerminalSize> terminal_size() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
      return TerminalSize{size.ws_row, size.ws_col};
    }
  }
  return std::nullopt;
}

RawTerminal::RawTerminal(int descriptor) : descriptor_(descriptor) {
  termios current{};
  if (::tcgetattr(descriptor_, &current) != 0) return;
  saved_ = current;
  guard_faults(descriptor_, current);
  enter();
}

RawTerminal::~RawTerminal() {
  restore();
  fault_state.descriptor = -1;
}

void RawTerminal::restore() const {
  if (saved_) ::tcsetattr(descriptor_, TCSADRAIN, &*saved_);
}

void RawTerminal::enter() const {
  if (!saved_) return;
  termios raw = *saved_;
  ::cfmakeraw(&raw);
  ::tcsetattr(descriptor_, TCSADRAIN, &raw);
}

}  // namespace exechost::cli

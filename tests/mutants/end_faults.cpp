#include "tests/mutants/end_faults.hpp"

#include <sys/wait.h>

namespace mutants {
namespace {

constexpr int kLowest = 0x7f;
constexpr int kByte = 0xff;
constexpr int kShellsSignal = 128;

}  // namespace

int told_status(int wait_status, Fault fault) {
  const bool exited = WIFEXITED(wait_status);
  const int code = exited ? WEXITSTATUS(wait_status) : 0;
  switch (fault) {
    case Fault::off_by_one_exit_code: return code == 0 ? wait_status : W_EXITCODE((code + 1) & kByte, 0);
    case Fault::exit_code_mod_128: return exited ? W_EXITCODE(code & kLowest, 0) : wait_status;
    case Fault::hides_signal_deaths: return exited ? wait_status : W_EXITCODE(kShellsSignal + WTERMSIG(wait_status), 0);
    case Fault::reports_signal_deaths_as_success: return exited ? wait_status : W_EXITCODE(0, 0);
    default: return wait_status;
  }
}

}  // namespace mutants

// exechost-plugin-check LIBRARY: loads it, calls its entry function, says on descriptor 3 that it is
// still alive, and ends.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>

#include "core/plugin/trial_protocol.hpp"
#include "exechost/plugin.h"

namespace {

namespace trial = exechost::plugin::trial;

void report(char code, const char* text) {
  char buffer[512];
  buffer[0] = code;
  const std::size_t length = strnlen(text, sizeof buffer - 1);
  std::memcpy(buffer + 1, text, length);
  // The reader sees a short report as it sees none: this process counts as dead.
  (void)!::write(trial::kReportFd, buffer, length + 1);
}

// Instead of abort(): says what was thrown.
[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::exception& error) {
    report(trial::kThrew, error.what());
  } catch (...) {
    report(trial::kThrew, "of a type unlike std::exception");
  }
  ::_exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::set_terminate(&on_terminate);
  // Whatever the loader or the table has to complain about, the caller finds out itself.
  if (void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) {
    if (void* const entry = ::dlsym(library, EXECHOST_PLUGIN_ENTRY_NAME)) {
      reinterpret_cast<eh_plugin_entry>(entry)(EH_ABI_MAJOR, EH_ABI_MINOR);
    }
  }
  report(trial::kSurvived, "");
  ::_exit(0);
}

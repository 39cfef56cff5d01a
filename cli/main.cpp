#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "cli/application.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"

namespace {

// A program started with a standard descriptor closed would get its next file under that number,
// and a message for people would go into it.
void ensure_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // Reading from it and writing to it fail, as with a closed descriptor.
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ensure_standard_descriptors();
  // A reader that went away is an error to report, not a reason to die with an environment open.
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for SIGPIPE
  try {
    exechost::cli::Application application;
    return application.run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception& error) {
    exechost::cli::print_note(std::string("internal error: ") + error.what());
    return exechost::cli::kExitFailure;
  }
}

#include "core/keeper/failures.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

namespace exechost::keeper {

std::string end_in_words(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exited with {}", WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) return fmt::format("was ended by signal {}", WTERMSIG(wait_status));
  return fmt::format("ended with wait status {:#x}", wait_status);
}

Failure first_process_ended(int wait_status, Phase phase) {
  if (phase == Phase::run) {
    return make_failure(FailureKind::environment_lost, phase,
                        fmt::format("the environment ended (its first process {})", end_in_words(wait_status)),
                        "guest");
  }
  // 2 is also what the guest says of a wrong start (guest/main.cpp).
  const bool perhaps_the_guest = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 2;
  return make_failure(
      FailureKind::provision_failed, phase,
      fmt::format("the environment's first process {} before the command had started", end_in_words(wait_status)),
      "guest", 0,
      perhaps_the_guest
          ? "a backend's author: the guest ends with 2 when its control socket is not descriptor 3 or its "
            "arguments are not as they were given; else see what the program that starts it says"
          : "see what the program that the backend starts says on standard error");
}

}  // namespace exechost::keeper

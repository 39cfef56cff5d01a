// Makes the keeper's own failures in one line.
#pragma once

#include <string>
#include <utility>

#include "exechost/failure.hpp"

namespace exechost::keeper {

inline Failure make_failure(FailureKind kind, Phase phase, std::string message, std::string step = {},
                            int error_number = 0, std::string hint = {}) {
  Failure failure;
  failure.kind = kind;
  failure.phase = phase;
  failure.message = std::move(message);
  failure.step = std::move(step);
  failure.error_number = error_number;
  failure.hint = std::move(hint);
  return failure;
}

// "exited with 3", "was ended by signal 9".
std::string end_in_words(int wait_status);

// The environment's first process (the guest, or what starts it) ended and should not have.
Failure first_process_ended(int wait_status, Phase phase);

}  // namespace exechost::keeper

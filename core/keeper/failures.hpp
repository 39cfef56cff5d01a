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

}  // namespace exechost::keeper

// What a step of the guest's work returns: nothing went wrong, or which step and errno.
#pragma once

#include "guest/protocol.hpp"

namespace exechost::guest {

struct Outcome {
  Step step = Step::none;
  int error_number = 0;

  bool ok() const { return step == Step::none; }
};

inline Outcome success() { return {}; }
inline Outcome failure(Step step, int error_number) { return {step, error_number}; }

}  // namespace exechost::guest

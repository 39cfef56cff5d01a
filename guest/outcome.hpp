// What a step of the guest's work returns: nothing went wrong, or which step and errno.
#pragma once

#include "guest/protocol.hpp"

namespace exechost::guest {

struct Outcome {
  Step step = Step::none;
  int error_number = 0;
  int detail = 0;  // Message::number

  bool ok() const { return step == Step::none; }
};

inline Outcome success() { return {}; }
inline Outcome failure(Step step, int error_number, int detail = 0) { return {step, error_number, detail}; }

}  // namespace exechost::guest

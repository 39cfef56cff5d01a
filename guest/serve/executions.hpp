// The commands that a serving guest has started and whose end it has not reported.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace exechost::guest {

struct ServedExecution {
  std::int32_t number = 0;  // the keeper's; 0: this place is free
  pid_t supervisor = -1;    // -1: it has ended, and what it may have left is being killed
  int wait_status = 0;      // of the supervisor
};

// As many as fit. Small numbers: a walk over all is quicker than anything clever.
class Executions {
 public:
  static constexpr std::size_t kMost = 1024;

  // Null: there is no room, or one of that number already.
  ServedExecution* add(std::int32_t number);
  ServedExecution* of_number(std::int32_t number);
  ServedExecution* of_supervisor(pid_t pid);
  static void remove(ServedExecution& execution) { execution = {}; }

  template <class Visit>
  void for_each(Visit visit) {
    for (ServedExecution& execution : places_) {
      if (execution.number != 0) visit(execution);
    }
  }

 private:
  ServedExecution places_[kMost];
};

}  // namespace exechost::guest

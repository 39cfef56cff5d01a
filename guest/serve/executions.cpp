#include "guest/serve/executions.hpp"

namespace exechost::guest {

ServedExecution* Executions::add(std::int32_t number) {
  if (number <= 0 || of_number(number) != nullptr) return nullptr;
  for (ServedExecution& execution : places_) {
    if (execution.number != 0) continue;
    execution.number = number;
    return &execution;
  }
  return nullptr;
}

ServedExecution* Executions::of_number(std::int32_t number) {
  for (ServedExecution& execution : places_) {
    if (number != 0 && execution.number == number) return &execution;
  }
  return nullptr;
}

ServedExecution* Executions::of_supervisor(pid_t pid) {
  for (ServedExecution& execution : places_) {
    if (execution.number != 0 && execution.supervisor == pid) return &execution;
  }
  return nullptr;
}

}  // namespace exechost::guest

#include "cli/command.hpp"

#include "cli/exit_status.hpp"

namespace exechost::cli {

int Command::usage_status() const { return kExitUsage; }

std::string Command::failure_document(const Failure& /*failure*/) const { return {}; }

}  // namespace exechost::cli

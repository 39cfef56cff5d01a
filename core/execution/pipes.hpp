// Pipes between the host and a command. The command's end blocks as a command expects; ours
// does not. Both are close-on-exec and two open file descriptions, so neither side's flags
// reach the other.
#pragma once

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::execution {

struct CommandPipe {
  UniqueFd ours;
  UniqueFd commands;
};

// spawn_failed with step "pipe" and errno.
Result<CommandPipe> make_output_pipe();  // the command writes, we read
Result<CommandPipe> make_input_pipe();   // we write, the command reads
// /dev/null for reading.
Result<UniqueFd> open_null();

// Sets O_NONBLOCK on an open file description that only we have.
bool make_nonblocking(int fd);

// spawn_failed for something the host could not prepare for the command.
Failure preparation_failure(std::string_view step, std::string_view what, int error_number);

}  // namespace exechost::execution

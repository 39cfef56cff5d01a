// Commands that the gateway tier carries out itself: some forms of cat, head, tail, ls, stat, wc,
// pwd, test, find, grep -F and sha256sum (docs/gateway.md). What they print and how they exit is
// what GNU's programs do in the C locale; anything they don't implement is refused before anything
// is read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/failure.hpp"
#include "exechost/gateway.hpp"

namespace exechost::gateway {

struct CommandRequest {
  std::vector<std::string> argv;  // argv[0] is the bare name
  std::string cwd;                // absolute, beneath a root; empty: the workspace
  // The whole of it; not set: there is one, but not here (a stream), so that a command that would
  // read it is refused.
  std::optional<std::string> standard_input;
  Patience patience;
};

// Called on the caller's thread with bytes that are valid during the call. Must not throw.
struct CommandSinks {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
};

enum class CommandStatus { exited, timed_out, cancelled };

struct CommandEnd {
  CommandStatus status = CommandStatus::exited;
  int exit_code = 0;              // meaningful for exited
  std::vector<Failure> problems;  // behind the messages on standard error, with hints; the first 100
};

// Whether the gateway has this command in this form: `unsupported` names what it lacks and the tier
// that has it. Pure.
Result<void> check_command(const std::vector<std::string>& argv);

// Fails like check_command, or when `cwd` can't be entered, or with `unsupported` when a standard
// input would be needed that is not given; then nothing was read and nothing printed.
Result<CommandEnd> run_command(const Gateway& gateway, const CommandRequest& request, const CommandSinks& sinks);

}  // namespace exechost::gateway

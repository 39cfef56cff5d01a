// A command that was understood, ready to run. One parser per command.
#pragma once

#include <functional>

#include "core/gateway/commands/arguments.hpp"
#include "core/gateway/commands/context.hpp"

namespace exechost::gateway {

struct Command {
  // The exit status; fails only when interrupted, or when nothing sensible can be printed any more.
  std::function<Result<int>(CommandContext&)> run;
  bool reads_standard_input = false;
};

Result<Command> parse_cat(const CommandForm& form, const Words& words);
Result<Command> parse_find(const CommandForm& form, const Words& words);
Result<Command> parse_grep(const CommandForm& form, const Words& words);
Result<Command> parse_head(const CommandForm& form, const Words& words);
Result<Command> parse_ls(const CommandForm& form, const Words& words);
Result<Command> parse_pwd(const CommandForm& form, const Words& words);
Result<Command> parse_sha256sum(const CommandForm& form, const Words& words);
Result<Command> parse_stat(const CommandForm& form, const Words& words);
Result<Command> parse_tail(const CommandForm& form, const Words& words);
Result<Command> parse_test(const CommandForm& form, const Words& words);
Result<Command> parse_wc(const CommandForm& form, const Words& words);

}  // namespace exechost::gateway

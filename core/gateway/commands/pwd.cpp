#include "core/gateway/commands/command.hpp"

namespace exechost::gateway {

Result<Command> parse_pwd(const CommandForm& form, const Words& words) {
  if (!words.empty()) return unexpected(not_here(form, "options or operands"));
  Command command;
  command.run = [](CommandContext& context) -> Result<int> {
    context.out(context.cwd());
    context.out("\n");
    return 0;
  };
  return command;
}

}  // namespace exechost::gateway

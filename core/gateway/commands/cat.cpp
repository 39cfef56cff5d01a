#include <fmt/format.h>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/input.hpp"
#include "core/gateway/commands/quote.hpp"

namespace exechost::gateway {
namespace {

// Numbers go on from file to file, and so does a line that a file left unfinished.
class LineNumbers {
 public:
  void print(CommandContext& context, std::string_view text) {
    while (!text.empty()) {
      if (at_line_start_) context.out(fmt::format("{:6}\t", ++line_));
      const std::size_t newline = text.find('\n');
      at_line_start_ = newline != std::string_view::npos;
      const std::size_t length = at_line_start_ ? newline + 1 : text.size();
      context.out(text.substr(0, length));
      text.remove_prefix(length);
    }
  }

 private:
  std::uint64_t line_ = 0;
  bool at_line_start_ = true;
};

Result<int> cat(CommandContext& context, const std::vector<std::string>& operands, bool numbered) {
  int status = 0;
  LineNumbers numbers;
  for (const std::string& operand : operands) {
    auto input = Input::open(context, operand, Input::Reads::whole);
    auto done = input ? input->each_piece(0,
                                          [&](std::string_view piece) {
                                            numbered ? numbers.print(context, piece) : context.out(piece);
                                            return true;
                                          })
                      : Result<void>(unexpected(input.error()));
    if (done) continue;
    status = 1;
    if (auto told = context.problem("cat: " + quote_if_needed(operand), done.error()); !told) {
      return unexpected(told.error());
    }
  }
  return status;
}

}  // namespace

Result<Command> parse_cat(const CommandForm& form, const Words& words) {
  auto arguments = parse_arguments(form, words, "n");
  if (!arguments) return unexpected(arguments.error());
  const auto operands = operands_or_standard_input(std::move(arguments->operands));
  Command command;
  command.reads_standard_input = reads_standard_input(operands);
  command.run = [operands, numbered = arguments->has('n')](CommandContext& context) {
    return cat(context, operands, numbered);
  };
  return command;
}

}  // namespace exechost::gateway

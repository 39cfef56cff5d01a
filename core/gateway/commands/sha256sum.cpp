#include <fmt/format.h>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/input.hpp"
#include "core/gateway/commands/quote.hpp"
#include "core/gateway/digest.hpp"

namespace exechost::gateway {
namespace {

// A name that would break the line is escaped, and the line says so with a backslash before it.
std::string line_for(std::string_view digest, std::string_view name) {
  std::string escaped;
  bool changed = false;
  for (const char byte : name) {
    const std::string_view escape = byte == '\\' ? "\\\\" : byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "";
    changed = changed || !escape.empty();
    escaped += escape.empty() ? std::string(1, byte) : std::string(escape);
  }
  return fmt::format("{}{}  {}\n", changed ? "\\" : "", digest, escaped);
}

Result<std::string> digest_of(const CommandContext& context, const std::string& operand) {
  auto input = Input::open(context, operand, Input::Reads::whole);
  if (!input) return unexpected(input.error());
  Sha256 hash;
  auto read = input->each_piece(0, [&](std::string_view piece) {
    hash.add(piece);
    return true;
  });
  if (!read) return unexpected(read.error());
  return hash.finish();
}

Result<int> sha256sum(CommandContext& context, const std::vector<std::string>& operands) {
  int status = 0;
  for (const std::string& operand : operands) {
    const auto digest = digest_of(context, operand);
    if (digest) {
      context.out(line_for(*digest, operand));
      continue;
    }
    status = 1;
    if (auto told = context.problem("sha256sum: " + quote_if_needed(operand), digest.error()); !told) {
      return unexpected(told.error());
    }
  }
  return status;
}

}  // namespace

Result<Command> parse_sha256sum(const CommandForm& form, const Words& words) {
  auto arguments = parse_arguments(form, words, "");
  if (!arguments) return unexpected(arguments.error());
  const auto operands = operands_or_standard_input(std::move(arguments->operands));
  Command command;
  command.reads_standard_input = reads_standard_input(operands);
  command.run = [operands](CommandContext& context) { return sha256sum(context, operands); };
  return command;
}

}  // namespace exechost::gateway

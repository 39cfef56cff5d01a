#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/input.hpp"
#include "core/gateway/commands/quote.hpp"
#include "core/gateway/failures.hpp"

namespace exechost::gateway {
namespace {

constexpr std::uint64_t kDefaultLines = 10;

struct Part {
  bool lines = true;        // else bytes
  bool from_start = false;  // tail's +N: everything from the Nth on
  std::uint64_t count = kDefaultLines;
};

// The position behind the `count`th newline of `text`, or nothing; `count` becomes what is missing.
std::optional<std::size_t> behind_newlines(std::string_view text, std::uint64_t& count) {
  std::size_t position = 0;
  for (; count > 0; --count) {
    const std::size_t newline = text.find('\n', position);
    if (newline == std::string_view::npos) return std::nullopt;
    position = newline + 1;
  }
  return position;
}

Result<void> head(CommandContext& context, Input& input, const Part& part) {
  std::uint64_t left = part.count;
  if (left == 0) return {};
  return input.each_piece(0, [&](std::string_view piece) {
    if (part.lines) {
      const auto end = behind_newlines(piece, left);
      context.out(piece.substr(0, end.value_or(piece.size())));
      return !end;
    }
    piece = piece.substr(0, std::min<std::uint64_t>(left, piece.size()));
    context.out(piece);
    left -= piece.size();
    return left > 0;
  });
}

// Where the last `count` lines begin; what follows the last newline counts as a line.
Result<std::uint64_t> start_of_last_lines(Input& input, std::uint64_t count) {
  std::vector<char> buffer(kPieceBytes);
  std::uint64_t end = input.size();
  bool at_end = true;
  if (count == 0) return end;
  while (end > 0) {
    const std::uint64_t start = end - std::min<std::uint64_t>(end, buffer.size());
    const auto read = input.read_at(start, std::span<char>(buffer).first(static_cast<std::size_t>(end - start)));
    if (!read) return unexpected(read.error());
    std::string_view piece(buffer.data(), *read);
    if (at_end && !piece.empty() && piece.back() != '\n') --count;
    at_end = at_end && piece.empty();
    for (std::size_t newline = piece.rfind('\n'); newline != std::string_view::npos; newline = piece.rfind('\n')) {
      if (count-- == 0) return start + newline + 1;
      piece = piece.substr(0, newline);
    }
    end = start;
  }
  return 0;
}

Result<void> tail(CommandContext& context, Input& input, const Part& part) {
  std::uint64_t start = 0;
  std::uint64_t to_skip = 0;  // lines
  if (part.from_start) {
    const std::uint64_t before = part.count == 0 ? 0 : part.count - 1;
    (part.lines ? to_skip : start) = before;
  } else if (part.lines) {
    const auto found = start_of_last_lines(input, part.count);
    if (!found) return unexpected(found.error());
    start = *found;
  } else {
    start = input.size() - std::min(input.size(), part.count);
  }
  return input.each_piece(start, [&](std::string_view piece) {
    if (to_skip > 0) {
      const auto end = behind_newlines(piece, to_skip);
      piece = piece.substr(end.value_or(piece.size()));
    }
    context.out(piece);
    return true;
  });
}

using Show = Result<void> (*)(CommandContext&, Input&, const Part&);

class Shower {
 public:
  Shower(CommandContext& context, std::string_view name, Show show, const Part& part, bool with_headers)
      : context_(context), name_(name), show_(show), part_(part), with_headers_(with_headers) {}

  Result<int> all(const std::vector<std::string>& operands) {
    int status = 0;
    for (const std::string& operand : operands) {
      const std::string shown = operand == "-" ? "standard input" : operand;
      auto input = Input::open(context_, operand, Input::Reads::part);
      Result<void> done;
      std::string_view trouble = "error reading";
      if (input) {
        header(shown);
        done = show_(context_, *input, part_);
      } else if (input.error().error_number == EISDIR) {
        header(shown);  // a folder can be opened; it is reading it that fails
        if (part_.count > 0 || part_.from_start) done = unexpected(input.error());
      } else {
        trouble = "cannot open";
        done = unexpected(input.error());
      }
      if (done) continue;
      status = 1;
      std::string message = fmt::format("{}: {} {}", name_, trouble, quote_for_shell(shown));
      if (trouble == "cannot open") message += " for reading";
      if (auto told = context_.problem(message, done.error()); !told) return unexpected(told.error());
    }
    return status;
  }

 private:
  void header(const std::string& shown) {
    if (!with_headers_) return;
    context_.out(fmt::format("{}==> {} <==\n", first_ ? "" : "\n", shown));
    first_ = false;
  }

  CommandContext& context_;
  std::string_view name_;
  Show show_;
  const Part& part_;
  bool with_headers_;
  bool first_ = true;
};

Result<Command> parse(const CommandForm& form, const Words& words, Show show, bool from_start_allowed) {
  auto arguments = parse_arguments(form, words, "n:c:");
  if (!arguments) return unexpected(arguments.error());
  Part part;
  for (const Arguments::Option& option : arguments->options) {
    std::string_view value = option.value;
    part.lines = option.letter == 'n';
    part.from_start = from_start_allowed && value.starts_with('+');
    if (part.from_start) value.remove_prefix(1);
    const auto count = parse_count(value);
    if (!count) return unexpected(not_here(form, fmt::format("the number in \"-{} {}\"", option.letter, option.value)));
    part.count = *count;
  }
  const auto operands = operands_or_standard_input(std::move(arguments->operands));
  Command command;
  command.reads_standard_input = reads_standard_input(operands);
  // GNU's tail does not even look at its files then.
  const bool nothing = from_start_allowed && part.count == 0 && !part.from_start;
  command.run = [operands, part, show, nothing, name = form.name](CommandContext& context) -> Result<int> {
    if (nothing) return 0;
    return Shower(context, name, show, part, operands.size() > 1).all(operands);
  };
  return command;
}

}  // namespace

Result<Command> parse_head(const CommandForm& form, const Words& words) { return parse(form, words, head, false); }
Result<Command> parse_tail(const CommandForm& form, const Words& words) { return parse(form, words, tail, true); }

}  // namespace exechost::gateway

#include <fmt/format.h>
#include <algorithm>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/input.hpp"
#include "core/gateway/commands/quote.hpp"
#include "core/gateway/failures.hpp"

namespace exechost::gateway {
namespace {

// Columns are wide enough for the sizes of all files together; where a size says nothing (standard
// input, a folder), for seven digits.
constexpr int kWidthOfUnknown = 7;
constexpr std::string_view kSpace = " \t\n\v\f\r";

struct Counts {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;
  std::uint64_t bytes = 0;
};

struct Columns {
  bool lines = false;
  bool words = false;
  bool bytes = false;
  int number() const { return (lines ? 1 : 0) + (words ? 1 : 0) + (bytes ? 1 : 0); }
};

class Counter {
 public:
  explicit Counter(const Columns& columns) : columns_(columns) {}

  void add(std::string_view text) {
    counts_.bytes += text.size();
    if (columns_.lines) {
      counts_.lines += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    }
    if (!columns_.words) return;
    for (const char byte : text) {
      const bool space = kSpace.find(byte) != std::string_view::npos;
      if (!space && !in_word_) ++counts_.words;
      in_word_ = !space;
    }
  }
  const Counts& counts() const { return counts_; }

 private:
  const Columns& columns_;
  Counts counts_;
  bool in_word_ = false;
};

int width_for(const CommandContext& context, const std::vector<std::string>& operands, const Columns& columns) {
  if (operands.size() == 1 && columns.number() == 1) return 1;
  int least = 1;
  std::uint64_t total = 0;
  for (const std::string& operand : operands) {
    const auto file = operand == "-" ? Result<Located>(unexpected(Failure{})) : context.locate(operand);
    if (file && file->is_regular()) {
      total += static_cast<std::uint64_t>(file->status.st_size);
    } else if (file || operand == "-") {
      least = kWidthOfUnknown;
    }
  }
  return std::max(least, static_cast<int>(fmt::formatted_size("{}", total)));
}

void print(CommandContext& context, const Columns& columns, int width, const Counts& counts, std::string_view name) {
  std::string line;
  const auto column = [&](bool wanted, std::uint64_t value) {
    if (wanted) line += fmt::format("{}{:{}}", line.empty() ? "" : " ", value, width);
  };
  column(columns.lines, counts.lines);
  column(columns.words, counts.words);
  column(columns.bytes, counts.bytes);
  if (!name.empty()) line += fmt::format(" {}", name);
  context.out(line + '\n');
}

Result<Counts> count(const CommandContext& context, const std::string& operand, const Columns& columns) {
  const bool only_bytes = columns.bytes && columns.number() == 1;
  auto input = Input::open(context, operand, only_bytes ? Input::Reads::part : Input::Reads::whole);
  if (!input) return unexpected(input.error());
  if (only_bytes) return Counts{0, 0, input->size()};
  Counter counter(columns);
  auto read = input->each_piece(0, [&](std::string_view piece) {
    counter.add(piece);
    return true;
  });
  if (!read) return unexpected(read.error());
  return counter.counts();
}

Result<int> wc(CommandContext& context, const Columns& columns, const std::vector<std::string>& operands, bool named) {
  const int width = width_for(context, operands, columns);
  int status = 0;
  Counts total;
  for (const std::string& operand : operands) {
    auto counts = count(context, operand, columns);
    if (!counts) {
      status = 1;
      const bool folder = counts.error().error_number == EISDIR;
      if (auto told = context.problem("wc: " + quote_if_needed(operand), counts.error()); !told) {
        return unexpected(told.error());
      }
      // A folder can be opened, so it gets its line.
      if (!folder) continue;
      counts = Counts{};
    }
    total.lines += counts->lines;
    total.words += counts->words;
    total.bytes += counts->bytes;
    // GNU's wc writes a name with a newline in it quoted: each line is one file's.
    const bool breaks = operand.find('\n') != std::string::npos;
    print(context, columns, width, *counts, named ? (breaks ? quote_if_needed(operand) : operand) : std::string());
  }
  if (operands.size() > 1) print(context, columns, width, total, "total");
  return status;
}

}  // namespace

Result<Command> parse_wc(const CommandForm& form, const Words& words) {
  auto arguments = parse_arguments(form, words, "lwc");
  if (!arguments) return unexpected(arguments.error());
  Columns columns{arguments->has('l'), arguments->has('w'), arguments->has('c')};
  if (columns.number() == 0) columns = {true, true, true};
  const bool named = !arguments->operands.empty();
  const auto operands = operands_or_standard_input(std::move(arguments->operands));
  Command command;
  command.reads_standard_input = reads_standard_input(operands);
  command.run = [columns, operands, named](CommandContext& context) { return wc(context, columns, operands, named); };
  return command;
}

}  // namespace exechost::gateway

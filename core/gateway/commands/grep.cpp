#include <fmt/format.h>
#include <cerrno>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/input.hpp"
#include "core/gateway/failures.hpp"
#include "core/gateway/line_search.hpp"
#include "core/gateway/walk.hpp"

namespace exechost::gateway {
namespace {

constexpr int kNoMatch = 1;
constexpr int kTrouble = 2;

struct Options {
  std::string pattern;
  std::vector<std::string> operands;
  bool ignore_case = false;
  bool line_numbers = false;
  bool only_names = false;
  bool only_counts = false;
  bool recursive = false;
};

class Searcher {
 public:
  Searcher(CommandContext& context, const Options& options)
      : context_(context),
        options_(options),
        lines_(options.pattern, options.ignore_case, context.limits().line_bytes) {}

  Result<int> all() {
    with_names_ = options_.operands.size() > 1;
    if (options_.operands.empty()) {
      const auto done = options_.recursive ? folder(".", {}) : file("-", "(standard input)");
      if (!done) return unexpected(done.error());
    }
    for (const std::string& operand : options_.operands) {
      const auto done = options_.recursive && operand != "-"
                            ? folder(operand, operand)
                            : file(operand, operand == "-" ? "(standard input)" : operand);
      if (!done) return unexpected(done.error());
    }
    if (trouble_) return kTrouble;
    return matched_ ? 0 : kNoMatch;
  }

 private:
  Result<void> file(const std::string& operand, const std::string& shown) {
    auto input = Input::open(context_, operand, Input::Reads::part);
    if (input) return finish(search(*input, shown), shown);
    // A folder can be opened, and has no line that matches.
    if (input.error().error_number == EISDIR && options_.only_counts && !options_.only_names) print_count(0, shown);
    return complain(shown, input.error());
  }

  // Also a single file. `prefix` is what names of files in it begin with.
  Result<void> folder(const std::string& operand, const std::string& prefix) {
    const auto start = context_.locate(operand);
    if (!start) return complain(operand, start.error());
    if (!start->is_folder()) return file(operand, operand);
    with_names_ = true;
    const auto name = [&](const WalkEntry& entry) {
      return prefix.empty() || prefix.ends_with('/') ? prefix + entry.relative : prefix + '/' + entry.relative;
    };
    Result<void> interrupted;
    WalkHandlers handlers;
    handlers.visit = [&](const WalkEntry& entry) {
      if (entry.kind != FileKind::regular) return true;
      interrupted = file_below(*start, entry, name(entry));
      return interrupted.has_value();
    };
    handlers.complain = [&](const WalkEntry& entry, const Failure& failure) {
      if (auto told = complain(entry.relative.empty() ? operand : name(entry), failure); !told) interrupted = told;
    };
    const auto end = walk(context_.parts(), *start, {}, handlers, context_.patience());
    if (!end) return unexpected(end.error());
    if (*end == WalkEnd::limit) {
      return complain(operand, unfit(operand, fmt::format("holds more than {} entries", context_.limits().walk_entries),
                                     EOVERFLOW, "use tier \"sandbox\" for big trees"));
    }
    return interrupted;
  }

  Result<void> file_below(const Located& start, const WalkEntry& entry, const std::string& shown) {
    const auto located = Places::locate_below(context_.parts().rules, start, entry.relative, context_.patience());
    if (!located) return complain(shown, located.error());
    if (!located->is_regular()) return {};  // it was when its folder was read
    auto input = Input::open(context_, *located, Input::Reads::part);
    return finish(input ? search(*input, shown) : Result<void>(unexpected(input.error())), shown);
  }

  Result<void> finish(const Result<void>& searched, const std::string& shown) {
    return searched ? searched : complain(shown, searched.error());
  }

  Result<void> search(Input& input, const std::string& shown) {
    LineSearch::Input lines;
    lines.shown = shown;
    lines.read_at = [&](std::uint64_t offset, std::span<char> buffer) { return input.read_at(offset, buffer); };
    lines.has_hole_behind = [&](std::uint64_t offset) { return input.has_hole_behind(offset); };
    std::uint64_t count = 0;
    bool binary = false;
    auto done = lines_.run(lines, [&](const LineHit& hit) {
      ++count;
      if (options_.only_names) return false;
      if (options_.only_counts) return true;
      binary = hit.binary;
      if (!binary) print(hit, shown);
      return !binary;
    });
    if (!done) return done;
    matched_ = matched_ || count > 0;
    if (options_.only_names) {
      if (count > 0) context_.out(shown + '\n');
    } else if (options_.only_counts) {
      print_count(count, shown);
    } else if (binary) {
      context_.note(fmt::format("grep: {}: binary file matches", shown));
    }
    return {};
  }

  void print(const LineHit& hit, const std::string& shown) {
    if (with_names_) context_.out(shown + ':');
    if (options_.line_numbers) context_.out(fmt::format("{}:", hit.line));
    context_.out(hit.text);
    context_.out("\n");
  }

  void print_count(std::uint64_t count, const std::string& shown) {
    context_.out(with_names_ ? fmt::format("{}:{}\n", shown, count) : fmt::format("{}\n", count));
  }

  Result<void> complain(const std::string& shown, const Failure& failure) {
    trouble_ = true;
    return context_.problem("grep: " + shown, failure);
  }

  CommandContext& context_;
  const Options& options_;
  LineSearch lines_;
  bool with_names_ = false;
  bool matched_ = false;
  bool trouble_ = false;
};

}  // namespace

Result<Command> parse_grep(const CommandForm& form, const Words& words) {
  auto arguments = parse_arguments(form, words, "Fnilcr");
  if (!arguments) return unexpected(arguments.error());
  if (!arguments->has('F')) return unexpected(not_here(form, "regular expressions: -F is needed"));
  if (arguments->operands.empty()) return unexpected(not_here(form, "a form without a pattern"));
  Options options;
  options.pattern = arguments->operands.front();
  options.operands.assign(arguments->operands.begin() + 1, arguments->operands.end());
  if (options.pattern.find('\n') != std::string::npos) {
    return unexpected(not_here(form, "patterns of several lines"));
  }
  options.ignore_case = arguments->has('i');
  options.line_numbers = arguments->has('n');
  options.only_names = arguments->has('l');
  options.only_counts = arguments->has('c');
  options.recursive = arguments->has('r');
  Command command;
  command.reads_standard_input =
      reads_standard_input(options.operands) || (options.operands.empty() && !options.recursive);
  command.run = [options](CommandContext& context) { return Searcher(context, options).all(); };
  return command;
}

}  // namespace exechost::gateway

#include <fmt/format.h>
#include <cerrno>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/quote.hpp"
#include "core/gateway/failures.hpp"
#include "core/gateway/name_pattern.hpp"
#include "core/gateway/walk.hpp"
#include "core/plan/report.hpp"

namespace exechost::gateway {
namespace {

struct Expression {
  std::vector<std::string> starts;
  std::optional<std::string> name;
  std::optional<FileKind> kind;
  std::uint64_t max_depth = UINT64_MAX;
};

std::string last_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return std::string(path == "/" || slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string below(const std::string& start, const std::string& relative) {
  if (relative.empty()) return start;
  return start.ends_with('/') ? start + relative : start + '/' + relative;
}

class Finder {
 public:
  Finder(CommandContext& context, const Expression& expression)
      : context_(context), expression_(expression), pattern_(expression.name.value_or("")) {}

  Result<int> all() {
    for (const std::string& start : expression_.starts) {
      if (auto done = from(start); !done) return unexpected(done.error());
    }
    return status_;
  }

 private:
  Result<void> from(const std::string& start) {
    const auto located = context_.locate(start, FinalLink::keep);
    if (!located) return complain(start, located.error());
    Result<void> trouble;
    WalkHandlers handlers;
    handlers.visit = [&](const WalkEntry& entry) {
      if (matches(start, entry)) context_.out(below(start, entry.relative) + '\n');
      return trouble.has_value();
    };
    handlers.complain = [&](const WalkEntry& entry, const Failure& failure) {
      if (auto told = complain(below(start, entry.relative), failure); !told) trouble = told;
    };
    WalkOptions options;
    options.max_depth = expression_.max_depth;
    const auto end = walk(context_.parts(), *located, options, handlers, context_.patience());
    if (!end) return unexpected(end.error());
    if (*end == WalkEnd::limit) {
      return complain(start, unfit(start, fmt::format("holds more than {} entries", context_.limits().walk_entries),
                                   EOVERFLOW, "use tier \"sandbox\" for big trees"));
    }
    return trouble;
  }

  bool matches(const std::string& start, const WalkEntry& entry) const {
    if (expression_.kind && *expression_.kind != entry.kind) return false;
    return !expression_.name || pattern_.matches(entry.relative.empty() ? last_name(start) : entry.name);
  }

  Result<void> complain(const std::string& path, const Failure& failure) {
    status_ = 1;
    return context_.problem("find: " + quote_for_reading(path), failure);
  }

  CommandContext& context_;
  const Expression& expression_;
  NamePattern pattern_;
  int status_ = 0;
};

bool begins_expression(const std::string& word) {
  return word.starts_with('-') || word.starts_with('(') || word.starts_with(')') || word.starts_with(',') ||
         word == "!";
}

}  // namespace

Result<Command> parse_find(const CommandForm& form, const Words& words) {
  Expression expression;
  std::size_t next = 0;
  while (next < words.size() && !begins_expression(words[next])) expression.starts.push_back(words[next++]);
  if (expression.starts.empty()) expression.starts.emplace_back(".");
  bool depth_given = false;
  for (; next < words.size(); next += 2) {
    const std::string& word = words[next];
    if (next + 1 == words.size()) return unexpected(not_here(form, plan::quote(word) + " at the end"));
    const std::string& value = words[next + 1];
    if (word == "-name" && !expression.name) {
      expression.name = value;
    } else if (word == "-type" && !expression.kind && (value == "f" || value == "d")) {
      expression.kind = value == "f" ? FileKind::regular : FileKind::folder;
    } else if (const auto depth = parse_count(value); word == "-maxdepth" && !depth_given && depth) {
      expression.max_depth = *depth;
      depth_given = true;
    } else {
      return unexpected(not_here(form, fmt::format("{} {} here", plan::quote(word), plan::quote(value))));
    }
  }
  Command command;
  command.run = [expression](CommandContext& context) { return Finder(context, expression).all(); };
  return command;
}

}  // namespace exechost::gateway

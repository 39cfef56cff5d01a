#include <fmt/format.h>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/input.hpp"
#include "core/gateway/commands/quote.hpp"

namespace exechost::gateway {
namespace {

constexpr std::string_view kDirectives = "%nsFahiugY";
constexpr mode_t kModeBits = 07777;

std::string_view kind_in_words(const struct stat& status) {
  switch (status.st_mode & S_IFMT) {
    case S_IFREG: return status.st_size == 0 ? "regular empty file" : "regular file";
    case S_IFDIR: return "directory";
    case S_IFLNK: return "symbolic link";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    case S_IFCHR: return "character special file";
    case S_IFBLK: return "block special file";
    default: return "weird file";
  }
}

std::string value_of(char directive, const std::string& name, const struct stat& status) {
  switch (directive) {
    case 'n': return name;
    case 's': return fmt::format("{}", status.st_size);
    case 'F': return std::string(kind_in_words(status));
    case 'a': return fmt::format("{:o}", status.st_mode & kModeBits);
    case 'h': return fmt::format("{}", status.st_nlink);
    case 'i': return fmt::format("{}", status.st_ino);
    case 'u': return fmt::format("{}", status.st_uid);
    case 'g': return fmt::format("{}", status.st_gid);
    case 'Y': return fmt::format("{}", status.st_mtim.tv_sec);
    default: return "%";
  }
}

std::string render(const std::string& format, const std::string& name, const struct stat& status) {
  std::string line;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '%') {
      line += value_of(format[++i], name, status);
    } else {
      line += format[i];
    }
  }
  return line + '\n';
}

Result<int> stat(CommandContext& context, const std::string& format, const std::vector<std::string>& operands) {
  int exit_code = 0;
  for (const std::string& operand : operands) {
    const auto file = context.locate(operand, FinalLink::keep);
    if (file) {
      context.out(render(format, operand, file->status));
      continue;
    }
    exit_code = 1;
    if (auto told = context.problem("stat: cannot statx " + quote_for_shell(operand), file.error()); !told) {
      return unexpected(told.error());
    }
  }
  return exit_code;
}

}  // namespace

Result<Command> parse_stat(const CommandForm& form, const Words& words) {
  auto arguments = parse_arguments(form, words, "c:");
  if (!arguments) return unexpected(arguments.error());
  if (arguments->options.size() != 1) return unexpected(not_here(form, "a form without exactly one -c FORMAT"));
  if (arguments->operands.empty()) return unexpected(not_here(form, "a form without a file"));
  if (reads_standard_input(arguments->operands)) return unexpected(not_here(form, "\"-\""));
  const std::string& format = arguments->options.front().value;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (++i == format.size() || kDirectives.find(format[i]) == std::string_view::npos) {
      return unexpected(not_here(form, fmt::format("the directive \"%{}\"", format.substr(i, 1))));
    }
  }
  Command command;
  command.run = [format, operands = arguments->operands](CommandContext& context) {
    return stat(context, format, operands);
  };
  return command;
}

}  // namespace exechost::gateway

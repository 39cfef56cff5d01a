#include <fmt/format.h>
#include <algorithm>
#include <cerrno>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/quote.hpp"
#include "core/gateway/failures.hpp"
#include "core/gateway/folder.hpp"

namespace exechost::gateway {
namespace {

enum class Dotted { left_out, shown, shown_with_dots };

constexpr int kSeriousTrouble = 2;

class Lister {
 public:
  Lister(CommandContext& context, Dotted dotted) : context_(context), dotted_(dotted) {}

  Result<int> all(const std::vector<std::string>& operands) {
    std::vector<std::string> files;
    std::vector<std::pair<std::string, Located>> folders;
    for (const std::string& operand : operands) {
      auto file = look_up(operand);
      if (!file) {
        if (auto told = trouble("cannot access ", operand, file.error()); !told) {
          return unexpected(told.error());
        }
      } else if (file->is_folder()) {
        folders.emplace_back(operand, std::move(*file));
      } else {
        files.push_back(operand);
      }
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) context_.out(file + '\n');
    something_printed_ = !files.empty();
    std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [operand, folder] : folders) {
      if (auto done = print(operand, folder, operands.size() > 1); !done) return unexpected(done.error());
    }
    return status_;
  }

 private:
  // A link to a folder is followed, any other link is itself.
  Result<Located> look_up(const std::string& operand) const {
    auto followed = context_.locate(operand);
    if (followed && followed->is_folder()) return followed;
    if (!followed && followed.error().error_number != ENOENT) return followed;
    return context_.locate(operand, FinalLink::keep);
  }

  Result<void> print(const std::string& operand, const Located& folder, bool with_header) {
    auto contents = read_folder(context_.parts().rules, folder, context_.limits().folder_entries, context_.patience());
    if (contents && contents->truncated) {
      contents = unexpected(unfit(operand, fmt::format("holds more than {} entries", context_.limits().folder_entries),
                                  EOVERFLOW, "use tier \"sandbox\" for big folders"));
    }
    if (!contents) return trouble("cannot open directory ", operand, contents.error());
    if (with_header) context_.out(fmt::format("{}{}:\n", something_printed_ ? "\n" : "", operand));
    something_printed_ = true;
    if (dotted_ == Dotted::shown_with_dots) {
      contents->entries.push_back({".", FileKind::folder});
      contents->entries.push_back({"..", FileKind::folder});
    }
    sort_by_name(contents->entries);
    for (const FolderEntry& entry : contents->entries) {
      if (dotted_ == Dotted::left_out && entry.name.starts_with('.')) continue;
      context_.out(entry.name);
      context_.out("\n");
    }
    return {};
  }

  Result<void> trouble(std::string_view what, const std::string& operand, const Failure& failure) {
    status_ = kSeriousTrouble;
    return context_.problem(fmt::format("ls: {}{}", what, quote_for_shell(operand)), failure);
  }

  CommandContext& context_;
  Dotted dotted_;
  bool something_printed_ = false;
  int status_ = 0;
};

}  // namespace

Result<Command> parse_ls(const CommandForm& form, const Words& words) {
  auto arguments = parse_arguments(form, words, "aA1");
  if (!arguments) return unexpected(arguments.error());
  Dotted dotted = Dotted::left_out;
  for (const Arguments::Option& option : arguments->options) {
    if (option.letter == 'a') dotted = Dotted::shown_with_dots;
    if (option.letter == 'A') dotted = Dotted::shown;
  }
  std::vector<std::string> operands = std::move(arguments->operands);
  if (operands.empty()) operands.emplace_back(".");
  Command command;
  command.run = [operands, dotted](CommandContext& context) { return Lister(context, dotted).all(operands); };
  return command;
}

}  // namespace exechost::gateway

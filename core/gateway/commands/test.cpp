#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/commands/quote.hpp"
#include "core/gateway/failures.hpp"
#include "core/gateway/open_beneath.hpp"

namespace exechost::gateway {
namespace {

constexpr std::string_view kQuestions = "efdsrw";
constexpr int kTrouble = 2;

bool holds(const CommandContext& context, char question, const Located& file) {
  const auto allowed = [&](int how) {
    return ::faccessat(AT_FDCWD, descriptor_path(file.fd.get()).c_str(), how, AT_EACCESS) == 0;
  };
  switch (question) {
    case 'f': return file.is_regular();
    case 'd': return file.is_folder();
    case 's': return file.status.st_size > 0;
    case 'r': return allowed(R_OK);
    // The workspace itself is writable as far as names in it are.
    case 'w':
      return allowed(W_OK) && (file.host_path == context.parts().policy.workspace
                                   ? context.parts().rules.decide(file.host_path) == Access::writable
                                   : context.parts().rules.why_not_writable(file.host_path).empty());
    default: return true;
  }
}

Result<int> test(CommandContext& context, char question, const std::string& path) {
  const auto file = context.locate(path);
  if (file) return holds(context, question, *file) ? 0 : 1;
  // "No" would be wrong about something that is there and that another tier would see.
  if (is_refusal(file.error()) || is_interruption(file.error())) {
    if (auto told = context.problem("test: " + quote_if_needed(path), file.error()); !told) {
      return unexpected(told.error());
    }
    return kTrouble;
  }
  return 1;
}

}  // namespace

Result<Command> parse_test(const CommandForm& form, const Words& words) {
  const bool understood = words.size() == 2 && words[0].size() == 2 && words[0][0] == '-' &&
                          kQuestions.find(words[0][1]) != std::string_view::npos;
  if (!understood) return unexpected(not_here(form, "this expression"));
  Command command;
  command.run = [question = words[0][1], path = words[1]](CommandContext& context) {
    return test(context, question, path);
  };
  return command;
}

}  // namespace exechost::gateway

#include "core/gateway/commands/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cerrno>

#include "core/gateway/commands/command.hpp"
#include "core/gateway/failures.hpp"
#include "core/plan/report.hpp"

namespace exechost::gateway {
namespace {

struct Entry {
  CommandForm form;
  Result<Command> (*parse)(const CommandForm&, const Words&);
};

constexpr std::array<Entry, 12> kCommands{{
    {{"cat", "[-n] [FILE...]"}, parse_cat},
    {{"find", "[PATH...] [-name PATTERN] [-type f|d] [-maxdepth N]"}, parse_find},
    {{"grep", "-F [-n] [-i] [-l] [-c] [-r] PATTERN [FILE...]"}, parse_grep},
    {{"head", "[-n N | -c N] [FILE...]"}, parse_head},
    {{"ls", "[-a] [-A] [-1] [FILE...]"}, parse_ls},
    {{"pwd", "no options"}, parse_pwd},
    {{"sha256sum", "[FILE...]"}, parse_sha256sum},
    {{"stat", "-c FORMAT FILE... with %n %s %F %a %h %i %u %g %Y %%"}, parse_stat},
    {{"tail", "[-n N | -n +N | -c N | -c +N] [FILE...]"}, parse_tail},
    {{"test", "-e|-f|-d|-s|-r|-w FILE"}, parse_test},
    {{"[", "-e|-f|-d|-s|-r|-w FILE ]"}, parse_test},
    {{"wc", "[-l] [-w] [-c] [FILE...]"}, parse_wc},
}};

Failure no_such_command(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(kCommands.size());
  for (const Entry& entry : kCommands) names.push_back(entry.form.name);
  Failure failure;
  failure.kind = FailureKind::unsupported;
  failure.phase = Phase::plan;
  failure.message = fmt::format("the gateway tier has no command {}", plan::quote(name));
  failure.hint = fmt::format("it has some forms of {}; use tier \"sandbox\"", fmt::join(names, ", "));
  failure.step = "arguments";
  return failure;
}

Result<Command> parse_command(const std::vector<std::string>& argv) {
  const std::string_view name = argv.empty() ? std::string_view() : std::string_view(argv.front());
  const auto* const entry = std::find_if(kCommands.begin(), kCommands.end(),
                                         [&](const Entry& candidate) { return candidate.form.name == name; });
  if (entry == kCommands.end()) return unexpected(no_such_command(name));
  Words words(argv.begin() + 1, argv.end());
  if (name == "[") {
    if (words.empty() || words.back() != "]") return unexpected(not_here(entry->form, "a form without \"]\""));
    words.pop_back();
  }
  return entry->parse(entry->form, words);
}

CommandStatus status_of(const Failure& interruption) {
  return interruption.error_number == ETIMEDOUT ? CommandStatus::timed_out : CommandStatus::cancelled;
}

}  // namespace

Result<void> check_command(const std::vector<std::string>& argv) {
  const auto command = parse_command(argv);
  if (!command) return unexpected(command.error());
  return {};
}

Result<CommandEnd> run_command(const Gateway& gateway, const CommandRequest& request, const CommandSinks& sinks) {
  const auto command = parse_command(request.argv);
  if (!command) return unexpected(command.error());
  if (command->reads_standard_input && !request.standard_input) {
    Failure failure = not_here({request.argv.front(), "files, and input that is given whole"},
                               "a standard input that comes bit by bit");
    return unexpected(failure);
  }
  const Gateway::Parts& parts = gateway.parts();
  const std::string cwd = request.cwd.empty() ? parts.policy.workspace : request.cwd;
  auto folder = parts.locate(cwd, {}, FinalLink::follow, request.patience);
  CommandEnd end;
  if (!folder && is_interruption(folder.error())) {
    end.status = status_of(folder.error());
    return end;
  }
  if (!folder) return unexpected(folder.error());
  if (!folder->is_folder()) return unexpected(unfit(cwd, "is not a folder to start in", ENOTDIR));

  CommandContext context(parts, request, folder->host_path, sinks);
  const auto exit_code = command->run(context);
  context.flush();
  end.problems = context.take_problems();
  if (exit_code) {
    end.exit_code = *exit_code;
  } else if (is_interruption(exit_code.error())) {
    end.status = status_of(exit_code.error());
  } else {
    return unexpected(exit_code.error());
  }
  return end;
}

}  // namespace exechost::gateway

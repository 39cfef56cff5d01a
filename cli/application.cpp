#include "cli/application.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/exit_status.hpp"
#include "cli/help_formatter.hpp"
#include "cli/nearest.hpp"
#include "cli/output.hpp"
#include "cli/setting_overrides.hpp"

namespace exechost::cli {
namespace {

constexpr const char* kDescription =
    "Runs commands that nobody has read yet where they can do no more damage than was agreed.";
constexpr const char* kFooter =
    "Examples:\n"
    "  exechost run -- npm test\n"
    "  exechost run --profile install -- npm install\n"
    "  exechost explain -- make\n"
    "  exechost doctor\n"
    "\n"
    "\"exechost COMMAND --help\" shows a command's options and examples.";

}  // namespace

std::vector<std::string> option_names(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

Failure unknown_words(const CLI::App& parser, const std::vector<std::string>& words, bool takes_command) {
  const std::string& word = words.front();
  const bool is_option = word.size() > 1 && word.front() == '-';
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  if (is_option) {
    known = option_names(parser);
  } else {
    for (const CLI::App* command : parser.get_subcommands(nullptr)) known.push_back(command->get_name());
  }
  Failure failure = usage_failure(fmt::format("unknown {} \"{}\"", is_option ? "option" : "argument", word));
  const std::string close = nearest(name, known);
  if (!close.empty()) {
    failure.hint = fmt::format("did you mean {}?", close);
  } else if (!is_option && takes_command) {
    failure.hint = "the command to run stands after --, for example: exechost run -- ls -l";
  } else {
    failure.hint = fmt::format("see: exechost {}{}--help", parser.get_name(), parser.get_name().empty() ? "" : " ");
  }
  return failure;
}

Application::Application() : parser_(kDescription, "exechost") {
  parser_.set_help_flag("-h,--help", "Show this help");
  parser_.add_flag("--version", version_, "Show the version");
  parser_.formatter(std::make_shared<HelpFormatter>());
  parser_.footer(kFooter);
  parser_.allow_extras();
  // Else "schema settings" would be two commands.
  parser_.require_subcommand(0, 1);
  add(make_run_command());
  add(make_explain_command());
  add(make_cp_command());
  add(make_changes_command());
  add(make_apply_command());
  add(make_backends_command());
  add(make_doctor_command());
  add(make_settings_command());
  add(make_approvals_command());
  add(make_start_command());
  add(make_logs_command());
  add(make_attach_command());
  add(make_wait_command());
  add(make_kill_command());
  add(make_ps_command());
  add(make_stop_command());
  add(make_plugin_command());
  add(make_schema_command());
  add(make_conformance_command());
  add(make_completion_command(parser_));
  add(make_version_command());
}

void Application::add(std::unique_ptr<Command> command) {
  CLI::App* parser = parser_.add_subcommand(command->name(), command->summary());
  parser->set_help_flag("-h,--help", "Show this help");
  parser->formatter(std::make_shared<HelpFormatter>(command->usage_forms()));
  parser->footer("Examples:\n" + command->examples());
  parser->allow_extras();
  command->add_options(*parser);
  entries_.push_back(Entry{std::move(command), parser});
}

Application::Entry* Application::entry_named(const std::string& name) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&name](const Entry& entry) { return entry.command->name() == name; });
  return found == entries_.end() ? nullptr : &*found;
}

int Application::usage_error(const Entry* entry, const CommandLine& line, const Failure& failure) const {
  const std::string document =
      entry != nullptr && line.mentions("--json") ? entry->command->failure_document(failure) : std::string();
  if (document.empty()) {
    print_failure(failure);
  } else {
    print(document);
  }
  if (entry == nullptr) return kExitUsage;
  return entry->command->usage_status();
}

int Application::parse_and_run(const CommandLine& line) {
  // The name is looked up here, so that every later error knows whose it is.
  Entry* entry = line.options.empty() ? nullptr : entry_named(line.options.front());
  if (entry == nullptr && !line.options.empty() && !line.options.front().starts_with("-")) {
    std::vector<std::string> names;
    for (const Entry& known : entries_) names.push_back(known.command->name());
    const std::string close = nearest(line.options.front(), names);
    return usage_error(nullptr, line,
                       usage_failure(fmt::format("there is no command \"{}\"", line.options.front()),
                                     close.empty() ? "see: exechost --help" : fmt::format("did you mean {}?", close)));
  }
  try {
    std::vector<std::string> reversed(line.options.rbegin(), line.options.rend());
    parser_.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return print(parser_.help());
  } catch (const CLI::ParseError& error) {
    return usage_error(
        entry, line,
        usage_failure(error.what(), fmt::format("see: exechost {}--help",
                                                entry == nullptr ? std::string() : entry->command->name() + " ")));
  }
  const CLI::App& used = entry == nullptr ? parser_ : *entry->parser;
  if (const std::vector<std::string> extra = used.remaining(); !extra.empty()) {
    return usage_error(entry, line, unknown_words(used, extra, entry == nullptr || entry->command->takes_command()));
  }
  if (version_) return entry_named("version")->command->run(line);
  if (entry == nullptr) {
    if (line.options.empty() && !line.has_command) {
      write_all(STDERR_FILENO, parser_.help());
      return kExitUsage;
    }
    return usage_error(nullptr, line,
                       usage_failure("a command is missing before --", "for example: exechost run -- ls -l"));
  }
  if (line.has_command && !entry->command->takes_command()) {
    return usage_error(entry, line, usage_failure(fmt::format("{} takes nothing after --", entry->command->name())));
  }
  return entry->command->run(line);
}

int Application::run(const std::vector<std::string>& arguments) { return parse_and_run(split_command_line(arguments)); }

}  // namespace exechost::cli

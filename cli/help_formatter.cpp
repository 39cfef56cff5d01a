#include "cli/help_formatter.hpp"

#include <fmt/format.h>

namespace exechost::cli {

HelpFormatter::HelpFormatter(bool takes_command) : takes_command_(takes_command) { column_width(32); }

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  if (!takes_command_) return Formatter::make_usage(app, std::move(name));
  return fmt::format("Usage: {0} [OPTIONS] -- COMMAND [ARGUMENTS]\n       {0} [OPTIONS] --shell 'SCRIPT'\n", name);
}

// The value's name only; "may be repeated" is said in words.
std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_type_size() == 0 ? std::string() : " " + option->get_type_name();
}

}  // namespace exechost::cli

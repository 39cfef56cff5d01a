#include "cli/help_formatter.hpp"

#include <fmt/format.h>

#include <utility>

namespace exechost::cli {

HelpFormatter::HelpFormatter(std::vector<std::string> forms) : forms_(std::move(forms)) { column_width(32); }

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  if (forms_.empty()) return Formatter::make_usage(app, std::move(name));
  std::string usage;
  for (const std::string& form : forms_)
    usage += fmt::format("{}{} {}\n", usage.empty() ? "Usage: " : "       ", name, form);
  return usage;
}

// The value's name only; "may be repeated" is said in words.
std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_type_size() == 0 ? std::string() : " " + option->get_type_name();
}

}  // namespace exechost::cli

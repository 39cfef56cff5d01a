// How the help looks where the parser's own form is wrong: a command to run stands after "--".
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace exechost::cli {

class HelpFormatter final : public CLI::Formatter {
 public:
  // `forms`: what may stand behind the command's name, a line each; none: as the parser has it.
  explicit HelpFormatter(std::vector<std::string> forms = {});
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;

 private:
  std::vector<std::string> forms_;
};

}  // namespace exechost::cli

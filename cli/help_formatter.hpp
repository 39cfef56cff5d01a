// How the help looks where the parser's own form is wrong: a command to run stands after "--".
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace exechost::cli {

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(bool takes_command);
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;

 private:
  bool takes_command_;
};

}  // namespace exechost::cli

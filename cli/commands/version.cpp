#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "exechost/plugin.h"

namespace exechost::cli {
namespace {

class VersionCommand final : public Command {
 public:
  std::string name() const override { return "version"; }
  std::string summary() const override { return "Show the version of the program and of the plugin interface"; }
  std::string examples() const override { return "  exechost version"; }
  void add_options(CLI::App& /*app*/) override {}
  int run(const CommandLine& /*line*/) override {
    return print(fmt::format("exechost {}\nplugin interface {}.{}\n", EXECHOST_VERSION, EH_ABI_MAJOR, EH_ABI_MINOR));
  }
};

}  // namespace

std::unique_ptr<Command> make_version_command() { return std::make_unique<VersionCommand>(); }

}  // namespace exechost::cli

#include <fmt/format.h>

#include <filesystem>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/plugin_project/content.hpp"
#include "cli/plugin_project/new_folder.hpp"
#include "cli/setting_overrides.hpp"
#include "core/host/inspect.hpp"
#include "core/plan/shell_words.hpp"
#include "core/plugin/trust.hpp"

namespace exechost::cli {
namespace {

constexpr const char* kSdk = "/lib/cmake/ExecHostSDK/ExecHostSDKConfig.cmake";
constexpr const char* kUnknownPrefix = "/where/exechost/is/installed";

// Where CMake finds the SDK that belongs to this program. A build tree has none.
std::string sdk_prefix() {
  std::error_code error;
  const auto installation = host::inspect_installation(HostOptions{});
  if (installation && std::filesystem::exists(installation->prefix + kSdk, error)) return installation->prefix;
  print_warning(
      fmt::format("this exechost has no SDK beside it, so {} stands for its place in what follows; cmake "
                  "--install puts both in one",
                  kUnknownPrefix));
  return kUnknownPrefix;
}

class PluginCommand final : public Command {
 public:
  std::string name() const override { return "plugin"; }
  std::string summary() const override { return "Begin a backend of your own"; }
  std::string examples() const override {
    return "  exechost plugin new my-box\n"
           "  exechost plugin new my-box ~/src/my-box --c\n"
           "\n"
           "Writes a project that builds and works. Its README.md says how to build, try and prove it.";
  }
  void add_options(CLI::App& app) override {
    app.add_option("ACTION", action_, "new")->check(CLI::IsMember({"new"}));
    app.add_option("NAME", project_.id, "The backend's id: a lower-case letter, then a-z 0-9 - _");
    app.add_option("DIR", folder_, "The folder to make; NAME in the current one when it is left out");
    app.add_flag("--c", project_.in_c, "In C11 instead of C++20");
  }

  int run(const CommandLine& /*line*/) override {
    if (action_.empty()) {
      print_failure(usage_failure("plugin needs an action: new", "for example: exechost plugin new my-box"));
      return kExitUsage;
    }
    if (const auto valid = check_plugin_id(project_.id); !valid) {
      print_failure(valid.error());
      return kExitUsage;
    }
    if (folder_.empty()) folder_ = project_.id;
    project_.prefix = sdk_prefix();
    const auto files = project_files(project_);
    if (const auto made = make_folder(folder_, files); !made) {
      print_failure(made.error());
      return 1;
    }
    // The way ExecHost will look at what is built there.
    if (const auto trusted = plugin::open_trusted(std::filesystem::absolute(folder_) / files.front().name); !trusted) {
      print_warning(fmt::format("{}: no plugin is loaded from there", trusted.error().message));
    }
    return print(report(files));
  }

 private:
  std::string report(const std::vector<ProjectFile>& files) const {
    const std::string build = folder_ + "/build";
    std::string text;
    for (const ProjectFile& file : files) text += plan::shell_word(folder_ + "/" + file.name) + "\n";
    return text + "\nTo build it (README.md says how to try it):\n  " +
           plan::shell_line({"cmake", "-S", folder_, "-B", build, "-DCMAKE_PREFIX_PATH=" + project_.prefix}) + "\n  " +
           plan::shell_line({"cmake", "--build", build}) + "\n";
  }

  std::string action_;
  PluginProject project_;
  std::string folder_;
};

}  // namespace

std::unique_ptr<Command> make_plugin_command() { return std::make_unique<PluginCommand>(); }

}  // namespace exechost::cli

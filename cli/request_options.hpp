// The options that say how a command is run: shared by run, explain and settings. Each is one
// setting (docs/settings.md); what it may be is checked where all settings are, not here.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/setting_overrides.hpp"
#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::cli {

enum class OptionKind { text, path, list, path_list };

struct SettingOption {
  const char* name;     // "--memory"
  const char* setting;  // "resources.memory"
  OptionKind kind;
  const char* value;    // how the help calls it
  const char* choices;  // for completion, separated by spaces; "@backends", "@profiles": asked for when needed
  const char* help;
};
std::span<const SettingOption> setting_options();

class RequestOptions {
 public:
  // Registers the options; this object must outlive the parsing.
  void add_to(CLI::App& app);
  // --cwd, --env, --shell and --tty: what belongs to one command.
  void add_command_options(CLI::App& app);

  // Everything but streams. invalid_request names the option.
  Result<Request> to_request(const CommandLine& line) const;
  Result<SettingOverrides> overrides() const;
  bool tty() const { return tty_; }

 private:
  Result<void> add_environment(Request& request) const;
  Result<void> add_flags(SettingOverrides& overrides) const;

  std::map<std::string, std::vector<std::string>> values_;  // option -> values, in order
  std::vector<std::string> set_;
  std::vector<std::string> env_;
  std::vector<std::string> cwd_;
  std::vector<std::string> shell_;
  std::vector<std::string> best_effort_;
  bool best_effort_given_ = false;
  bool persistent_ = false;
  bool not_persistent_ = false;
  bool strict_ = false;
  bool spill_ = false;
  bool tty_ = false;
  bool recreate_ = false;
};

}  // namespace exechost::cli

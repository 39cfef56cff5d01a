#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/request_options.hpp"
#include "cli/text_table.hpp"
#include "core/host/inspect.hpp"

namespace exechost::cli {
namespace {

using nlohmann::json;

json as_json(const settings::Settings& settings, bool show_origin) {
  if (!show_origin) return settings.values();
  json origins = json::object();
  for (const auto& [name, origin] : settings.origins()) {
    origins[name] = {
        {"value", settings.at(name)}, {"scope", settings::to_string(origin.scope)}, {"source", origin.source}};
  }
  return origins;
}

std::string as_text(const settings::Settings& settings, bool show_origin) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, origin] : settings.origins()) {
    rows.push_back({name, settings.at(name).dump()});
    if (!show_origin) continue;
    rows.back().emplace_back(settings::to_string(origin.scope));
    rows.back().push_back(origin.source);
  }
  return text_table(rows);
}

class SettingsCommand final : public Command {
 public:
  std::string name() const override { return "settings"; }
  std::string summary() const override { return "Show the settings in force and where each comes from"; }
  std::string examples() const override {
    return "  exechost settings\n"
           "  exechost settings --show-origin\n"
           "  exechost settings --profile install --json\n"
           "\n"
           "Sizes are in bytes, times in milliseconds. docs/settings.md and \"exechost schema settings\" say what each "
           "means.";
  }
  void add_options(CLI::App& app) override {
    app.add_flag("--show-origin", show_origin_, "The scope and the file, variable or option behind each value");
    app.add_flag("--json", json_, "As one JSON object");
    options_.add_to(app);
  }

  int run(const CommandLine& /*line*/) override {
    auto overrides = options_.overrides();
    if (!overrides) {
      print_failure(overrides.error());
      return kExitUsage;
    }
    Request request;
    if (!overrides->values().empty()) request.settings_json = overrides->values().dump();
    request.settings_origins = overrides->sources();
    auto settings = host::inspect_settings(HostOptions{}, request);
    if (!settings) {
      print_failure(settings.error());
      return 1;
    }
    for (const std::string& warning : settings->warnings()) print_warning(warning);
    return print(json_ ? as_json(*settings, show_origin_).dump(2) + "\n" : as_text(*settings, show_origin_));
  }

 private:
  RequestOptions options_;
  bool show_origin_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_settings_command() { return std::make_unique<SettingsCommand>(); }

}  // namespace exechost::cli

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

// A secret value is never shown: settings::origins_json has none.
json values_json(const settings::Settings& settings) {
  json values = json::object();
  for (const json& leaf : settings::origins_json(settings))
    values[leaf.at("name").get<std::string>()] = leaf.at("value");
  return values;
}

std::string values_text(const settings::Settings& settings) {
  std::vector<std::vector<std::string>> rows;
  for (const json& leaf : settings::origins_json(settings)) {
    rows.push_back(
        {leaf.at("name").get<std::string>(), leaf.contains("secret") ? "(secret)" : leaf.at("value").dump()});
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
    if (json_) return print((show_origin_ ? settings::origins_json(*settings) : values_json(*settings)).dump(2) + "\n");
    return print(show_origin_ ? settings::show_origin(*settings) : values_text(*settings));
  }

 private:
  RequestOptions options_;
  bool show_origin_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_settings_command() { return std::make_unique<SettingsCommand>(); }

}  // namespace exechost::cli

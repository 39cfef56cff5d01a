#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/nearest.hpp"
#include "cli/output.hpp"
#include "cli/setting_overrides.hpp"
#include "core/host/inspect.hpp"
#include "core/settings/settings.hpp"

namespace exechost::cli {
namespace {

class SchemaCommand final : public Command {
 public:
  std::string name() const override { return "schema"; }
  std::string summary() const override { return "Print the JSON Schema of a document"; }
  std::string examples() const override {
    return "  exechost schema settings > settings.schema.json\n"
           "  exechost schema result\n"
           "  exechost schema settings --markdown\n"
           "\n"
           "Documents: settings, plan, result, capability, open.";
  }
  void add_options(CLI::App& app) override {
    app.add_option("NAME", document_, "settings, plan, result, capability or open");
    app.add_flag("--markdown", markdown_, "The settings as a page for people (docs/settings.md)");
  }

  int run(const CommandLine& /*line*/) override {
    if (document_.empty()) {
      print_failure(usage_failure(fmt::format("which schema? one of {}", fmt::join(host::schema_names(), ", "))));
      return kExitUsage;
    }
    auto text = host::schema_text(document_);
    if (!text) {
      print_failure(text.error());
      return kExitUsage;
    }
    if (markdown_) {
      if (document_ != "settings") {
        print_failure(usage_failure("--markdown is there for the settings only"));
        return kExitUsage;
      }
      return print(settings::schema_markdown());
    }
    return print(text->empty() || text->back() != '\n' ? *text + "\n" : *text);
  }

 private:
  std::string document_;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> make_schema_command() { return std::make_unique<SchemaCommand>(); }

}  // namespace exechost::cli

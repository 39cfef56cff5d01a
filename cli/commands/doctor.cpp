#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/doctor/check.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/repeated_option.hpp"
#include "cli/setting_overrides.hpp"
#include "core/base/utf8.hpp"

namespace exechost::cli {
namespace {

using doctor::Check;
using doctor::Verdict;

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::warn: return "warn";
    case Verdict::fail: break;
  }
  return "FAIL";
}

std::string as_line(const Check& check) {
  std::string line = fmt::format("{:<5} {}: {}\n", word(check.verdict), escape_for_terminal(check.name),
                                 escape_for_terminal(check.detail));
  if (!check.advice.empty()) line += fmt::format("      -> {}\n", escape_for_terminal(check.advice));
  return line;
}

class DoctorCommand final : public Command {
 public:
  std::string name() const override { return "doctor"; }
  std::string summary() const override { return "Check that commands can run isolated here, and that isolation holds"; }
  std::string examples() const override {
    return "  exechost doctor\n"
           "  exechost doctor bwrap\n"
           "\n"
           "Exit status: 0 when nothing failed, else 1; 128 + N interrupted by signal N. Runs two small commands in "
           "the default sandbox.";
  }
  void add_options(CLI::App& app) override {
    app.add_option("BACKEND", backends_, "Backends that must be ready (default: the one the settings choose)");
    add_values(app, "--set", set_, "Any setting, such as plugins.directories=[\"/opt/backends\"]; may be repeated")
        ->type_name("NAME=JSON");
    app.add_flag("--json", json_, "The checks as a JSON array");
  }

  int run(const CommandLine& /*line*/) override {
    const auto request = request_for(set_);
    if (!request) {
      print_failure(request.error());
      return 1;
    }
    std::vector<Check> all;
    const auto add = [this, &all](std::vector<Check> checks) {
      for (Check& check : checks) {
        // Shown as they come: a self-test may take a while.
        if (!json_) print(as_line(check));
        all.push_back(std::move(check));
      }
    };
    add(doctor::kernel_checks());
    add(doctor::installation_checks());
    add(doctor::backend_checks(backends_, *request));
    doctor::SelfTests tests = doctor::self_tests();
    if (tests.interrupted_by != 0) return kExitSignalBase + tests.interrupted_by;
    add(std::move(tests.checks));
    if (json_) print(as_json(all));
    return std::any_of(all.begin(), all.end(), [](const Check& check) { return check.verdict == Verdict::fail; }) ? 1
                                                                                                                  : 0;
  }

 private:
  static std::string as_json(const std::vector<Check>& checks) {
    nlohmann::json document = nlohmann::json::array();
    for (const Check& check : checks) {
      document.push_back({{"check", check.name},
                          {"verdict", check.verdict == Verdict::fail ? "fail" : word(check.verdict)},
                          {"detail", to_valid_utf8(check.detail)},
                          {"advice", to_valid_utf8(check.advice)}});
    }
    return document.dump(2) + "\n";
  }

  std::vector<std::string> backends_;
  std::vector<std::string> set_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace exechost::cli

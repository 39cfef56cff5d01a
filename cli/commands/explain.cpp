#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/request_options.hpp"
#include "cli/unattended.hpp"
#include "exechost/host.hpp"

namespace exechost::cli {
namespace {

class ExplainCommand final : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string summary() const override { return "Show what run would do with the same options, without doing it"; }
  std::string examples() const override {
    return "  exechost explain -- make check\n"
           "  exechost explain --profile install --memory 512m -- npm install\n"
           "  exechost explain --json -- ls | jq .view\n"
           "\n"
           "Exit status: 0 when the command would run, 1 when it would be refused, 2 for a wrong command line.";
  }
  bool takes_command() const override { return true; }

  void add_options(CLI::App& app) override {
    options_.add_command_options(app);
    options_.add_to(app);
    app.add_flag("--json", json_, "The plan as one JSON object (exechost schema plan)")->group("Output");
  }

  int run(const CommandLine& line) override {
    auto request = options_.to_request(line);
    if (!request) {
      print_failure(request.error());
      return kExitUsage;
    }
    HostOptions host_options;
    host_options.keeper = KeeperPlacement::in_process;
    host_options.single_run = true;
    if (const auto settings = settle_timeout(host_options, *request); !settings) {
      print_failure(settings.error());
      return 1;
    }
    ExecHost host(host_options);
    auto plan = json_ ? host.explain_json(*request) : host.explain_text(*request);
    if (!plan) {
      print_failure(plan.error());
      return 1;
    }
    if (plan->empty() || plan->back() != '\n') *plan += '\n';
    return print(*plan);
  }

 private:
  RequestOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace exechost::cli

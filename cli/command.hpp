// One subcommand of the `exechost` program.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "exechost/failure.hpp"

namespace exechost::cli {

class Command {
 public:
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  // Shown at the end of the help, indented lines.
  virtual std::string examples() const = 0;
  // Whether words after "--" mean something to it.
  virtual bool takes_command() const { return false; }
  // What may stand behind its name, a line each; none: as the parser makes it of the options.
  virtual std::vector<std::string> usage_forms() const {
    if (!takes_command()) return {};
    return {"[OPTIONS] -- COMMAND [ARGUMENTS]", "[OPTIONS] --shell 'SCRIPT'"};
  }
  // The exit status for a wrong command line.
  virtual int usage_status() const;
  // What stdout shows for a failure when --json was asked for; empty: nothing, the message goes to
  // stderr. (A run's result object is there whatever happens.)
  virtual std::string failure_document(const Failure& failure) const;
  // Registers options that are bound to this object, which outlives `app`'s parsing.
  virtual void add_options(CLI::App& app) = 0;
  // Does the work; the exit status.
  virtual int run(const CommandLine& line) = 0;

 protected:
  Command() = default;
};

std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_backends_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_settings_command();
std::unique_ptr<Command> make_cp_command();
std::unique_ptr<Command> make_changes_command();
std::unique_ptr<Command> make_apply_command();
std::unique_ptr<Command> make_approvals_command();
std::unique_ptr<Command> make_start_command();
std::unique_ptr<Command> make_logs_command();
std::unique_ptr<Command> make_attach_command();
std::unique_ptr<Command> make_wait_command();
std::unique_ptr<Command> make_kill_command();
std::unique_ptr<Command> make_ps_command();
std::unique_ptr<Command> make_stop_command();
std::unique_ptr<Command> make_plugin_command();
std::unique_ptr<Command> make_schema_command();
std::unique_ptr<Command> make_conformance_command();
// `root` is the whole program's parser: the scripts are made from what it knows.
std::unique_ptr<Command> make_completion_command(const CLI::App& root);
std::unique_ptr<Command> make_version_command();

}  // namespace exechost::cli

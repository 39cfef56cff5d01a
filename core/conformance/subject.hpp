// The plugin under test, in an ExecHost of its own with settings of its own.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/conformance/keeper_link.hpp"
#include "core/conformance/scratch.hpp"
#include "core/plan/capability.hpp"
#include "exechost/exec_result.hpp"
#include "exechost/host.hpp"
#include "exechost/request.hpp"

namespace exechost::conformance {

struct SubjectOptions {
  std::string library;  // absolute path of FILE.so; FILE.json is beside it. Empty: the node tier, which is no library
  nlohmann::json settings = nlohmann::json::object();
  std::string prefix;                      // of ExecHost's own programs; empty: found
  std::chrono::milliseconds time{30'000};  // of a command, environment included
  std::string exechost_program;  // the command line, for the death of a host; empty: those checks are left out
  std::stop_token stop;          // ends every command and every wait; what a check then says means nothing
};

// A command that runs, as long as nobody asks the kit to stop.
class LiveCommand {
 public:
  LiveCommand(Execution execution, std::stop_token stop)
      : execution_(std::make_unique<Execution>(std::move(execution))),
        on_stop_(std::make_unique<OnStop>(std::move(stop), [running = execution_.get()] { running->cancel(); })) {}
  Execution* operator->() const { return execution_.get(); }

 private:
  using OnStop = std::stop_callback<std::function<void()>>;
  std::unique_ptr<Execution> execution_;
  std::unique_ptr<OnStop> on_stop_;  // goes first: it names the other
};

// Not safe from several threads.
class Subject {
 public:
  // Fails when the plugin is not there, not loadable or not ready: then there is nothing to check.
  static Result<std::unique_ptr<Subject>> make(SubjectOptions options);

  const std::string& id() const { return id_; }
  const SubjectOptions& options() const { return options_; }
  // Manifest and probe together: what is claimed on this machine.
  const plan::Statement& statement() const { return statement_; }
  bool claims(std::string_view capability) const;
  bool is_node_tier() const { return options_.library.empty(); }
  // Why one that is not claimed is not: for a verdict.
  std::string not_claimed(std::string_view capability) const;
  const Scratch& scratch() const { return scratch_; }
  ExecHost& host() { return *host_; }

  // Files that a command writes into its workspace are in the scratch's: else nothing on this
  // machine shows what it does.
  bool shares_workspace() const { return statement_.locality == "local"; }

  // Where a command can leave something that is gone with its environment, or with the kit.
  std::string private_file() const;

  // A request for this backend with what it can't do accepted, and a timeout.
  Request request(std::vector<std::string> argv) const;
  Request script(const std::string& text) const;
  // Settings of this request alone, in the shape of the settings schema.
  static void add_settings(Request& request, const nlohmann::json& settings);
  ExecResult run(const Request& request) { return host_->run(request, options_.stop); }
  Result<LiveCommand> start(const Request& request);
  // Environments one by one, in a keeper process of its own.
  Result<std::unique_ptr<KeeperLink>> link() const;

 private:
  Subject(SubjectOptions options, Scratch scratch) : options_(std::move(options)), scratch_(std::move(scratch)) {}
  Result<void> inspect();
  HostOptions host_options() const;
  Result<void> write_settings(nlohmann::json settings) const;
  nlohmann::json accepted_settings() const;

  SubjectOptions options_;
  Scratch scratch_;
  std::string id_;
  plan::Statement statement_;
  plan::Statement manifest_;
  std::unique_ptr<ExecHost> host_;
};

// How a command is expected to end, for messages: "exited with 3", "timed out", "failed: ...".
std::string in_words(const ExecResult& result);
// Bytes for a message: quoted, escaped, cut.
std::string shown(std::string_view bytes);

}  // namespace exechost::conformance

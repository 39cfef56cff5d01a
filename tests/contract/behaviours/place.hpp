// Where a behaviour has to hold, and the scene of its tests: the library as a framework has it, with the keeper in a
// child process, and the command line.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "exechost/host.hpp"
#include "tests/support/keepers.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/processes.hpp"

namespace exechost::test {

enum class Where {
  alone,         // a sandbox for this one run
  session,       // the sandbox that the runs of a session share
  node,          // a plain process of this machine, let in by the user's settings
  node_session,  // the same, by the guest that serves a session
};

inline std::string name_of(Where where) {
  switch (where) {
    case Where::alone: return "alone";
    case Where::session: return "session";
    case Where::node: return "node";
    case Where::node_session: return "node_session";
  }
  return "?";
}
inline std::ostream& operator<<(std::ostream& out, Where where) { return out << name_of(where); }
inline std::string place_name(const ::testing::TestParamInfo<Where>& tested) { return name_of(tested.param); }

inline std::string why(const ExecResult& result) {
  return result.failure ? describe(*result.failure) : result.to_json();
}

class Behaviour : public ::testing::Test {
 protected:
  explicit Behaviour(Where where) : where_(where) {
    if (on_node()) user_settings(R"({"admission": {"node": {"security": "full", "ask": "off"}}})");
  }
  static void SetUpTestSuite() { become_subreaper(); }
  void TearDown() override {
    host_.reset();
    end_keepers(*scene_);
  }

  void user_settings(const std::string& text) const { scene_->file("home/.config/exechost/settings.json", text, 0600); }
  std::string path(const std::string& name) const { return scene_->workspace() + "/" + name; }

  // To be changed before the first use of host().
  HostOptions options_of_host() const { return host_options(*scene_, KeeperPlacement::child); }
  ExecHost& host() {
    if (!host_) host_ = std::make_unique<ExecHost>(options_of_host());
    return *host_;
  }
  void end_host() { host_.reset(); }
  void use(HostOptions options) { host_ = std::make_unique<ExecHost>(std::move(options)); }

  // The request, in this place.
  Request placed(Request request) const {
    if (on_node()) request.backend = "local";
    if (where_ == Where::alone || where_ == Where::node) {
      nlohmann::json settings =
          request.settings_json.empty() ? nlohmann::json::object() : nlohmann::json::parse(request.settings_json);
      settings["session"]["persistent"] = false;
      request.settings_json = settings.dump();
    }
    return request;
  }
  Request script(std::string text) const { return placed(shell_request(std::move(text))); }
  Request words(std::vector<std::string> argv) const {
    Request request;
    request.argv = std::move(argv);
    return placed(std::move(request));
  }
  ExecResult run(std::string text) { return host().run(script(std::move(text))); }
  Execution start(const Request& request) {
    auto started = host().start(request);
    if (!started) throw std::runtime_error(describe(started.error()));
    return std::move(*started);
  }

  // `exechost run` in this place, with a session that is found again by its name.
  ProgramOptions command_line(const std::vector<std::string>& command, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), "run");
    if (in_session()) options.insert(options.end(), {"--session", "s"});
    if (on_node()) options.insert(options.end(), {"--backend", "local"});
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    ProgramOptions program = scene_->cli(std::move(options));
    program.leaves_a_keeper = in_session();
    return program;
  }
  ProgramEnd run_command_line(const std::vector<std::string>& command, std::vector<std::string> options = {}) const {
    return run_program(command_line(command, std::move(options)));
  }

  bool on_node() const { return where_ == Where::node || where_ == Where::node_session; }
  bool in_session() const { return where_ == Where::session || where_ == Where::node_session; }

  Where where_;
  std::unique_ptr<Scene> scene_ = own_scene();

 private:
  std::unique_ptr<ExecHost> host_;
};

// A behaviour that is the same in several places.
class InEachPlace : public Behaviour, public ::testing::WithParamInterface<Where> {
 protected:
  InEachPlace() : Behaviour(GetParam()) {}
};

// One of sessions.
class InASession : public Behaviour {
 protected:
  InASession() : Behaviour(Where::session) {}
};

}  // namespace exechost::test

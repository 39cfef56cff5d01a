// A scene with named sessions: its detached keeper ends with it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exechost/host.hpp"
#include "exechost/session.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/processes.hpp"

namespace exechost::test {

class NamedScene : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { become_subreaper(); }
  void TearDown() override {
    for (const pid_t pid : keepers()) {
      ::kill(pid, SIGTERM);
      EXPECT_TRUE(ended(pid)) << "a keeper does not end";
    }
  }

  // With an environment of the scene, as every program of its user would make it.
  std::unique_ptr<ExecHost> make_host() const {
    return std::make_unique<ExecHost>(host_options(*scene_, KeeperPlacement::in_process));
  }
  // `exechost ARGUMENTS...`, which may start the keeper.
  ProgramOptions cli(std::vector<std::string> arguments) const {
    ProgramOptions options = scene_->cli(std::move(arguments));
    options.leaves_a_keeper = true;
    return options;
  }
  ProgramEnd command(std::vector<std::string> arguments) const { return run_program(cli(std::move(arguments))); }

  // This scene's detached keepers that run.
  std::vector<pid_t> keepers() const {
    std::vector<pid_t> found;
    for (const auto& process : all_processes()) {
      if (process.name == "exechost-keeper" && process.state != 'Z' &&
          process.command.find(scene_->runtime_folder() + "/exechost/keepers") != std::string::npos) {
        found.push_back(process.pid);
      }
    }
    return found;
  }
  pid_t keeper() const {
    const auto found = keepers();
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? -1 : found.front();
  }
  // Waits for it, and reaps it where it is a child of this process, the subreaper.
  static bool ended(pid_t pid) {
    if (!wait_until_ended(pid, std::chrono::seconds(20))) return false;
    ::waitpid(pid, nullptr, WNOHANG);
    return true;
  }

  std::unique_ptr<Scene> scene_ = own_scene();
};

}  // namespace exechost::test

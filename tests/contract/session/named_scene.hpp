// A scene with named sessions: its detached keeper ends with it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exechost/host.hpp"
#include "exechost/session.hpp"
#include "tests/support/keepers.hpp"
#include "tests/support/library_host.hpp"
#include "tests/support/processes.hpp"

namespace exechost::test {

class NamedScene : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { become_subreaper(); }
  void TearDown() override { end_keepers(*scene_); }

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

  std::vector<pid_t> keepers() const { return keepers_of(*scene_); }
  pid_t keeper() const {
    const auto found = keepers();
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? -1 : found.front();
  }
  static bool ended(pid_t pid) { return keeper_ended(pid); }

  std::unique_ptr<Scene> scene_ = own_scene();
};

}  // namespace exechost::test

// The detached keepers of a scene: they outlive the programs that started them, so a test ends them.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "tests/support/processes.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {

// Those that run.
inline std::vector<pid_t> keepers_of(const Scene& scene) {
  std::vector<pid_t> found;
  for (const auto& process : all_processes()) {
    if (process.name == "exechost-keeper" && process.state != 'Z' &&
        process.command.find(scene.runtime_folder() + "/exechost/keepers") != std::string::npos) {
      found.push_back(process.pid);
    }
  }
  return found;
}

// Waits for its end, and reaps it where it is a child of this process, the subreaper.
inline bool keeper_ended(pid_t pid) {
  if (!wait_until_ended(pid, std::chrono::seconds(20))) return false;
  ::waitpid(pid, nullptr, WNOHANG);
  return true;
}

inline void end_keepers(const Scene& scene) {
  for (const pid_t pid : keepers_of(scene)) {
    ::kill(pid, SIGTERM);
    EXPECT_TRUE(keeper_ended(pid)) << "a keeper does not end";
  }
}

}  // namespace exechost::test

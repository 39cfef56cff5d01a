// An ExecHost on folders of the test's own, with the build tree as its installation.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "exechost/host.hpp"

namespace exechost::test {

// Folders below one that only the user can write: settings, state, runtime and workspace.
class HostScene {
 public:
  explicit HostScene(KeeperPlacement placement);
  ~HostScene();
  HostScene(const HostScene&) = delete;
  HostScene& operator=(const HostScene&) = delete;

  HostOptions options;
  std::string folder;
  std::string workspace;
  std::string ledger;

  std::size_t ledger_entries() const;
  // A command line with `mark` in it still runs somewhere on this machine.
  static bool runs(const std::string& mark);
  // Waits for it.
  static bool appears(const std::string& mark);
  // Direct children of this process with that name.
  static std::vector<pid_t> children(const std::string& name);
};

// Empty when the bwrap backend is ready, else why it isn't.
std::string bwrap_problem(const HostOptions& options);

// A number of /proc/PID/status.
long status_number(pid_t pid, const std::string& name);

Request shell(const std::string& script);

}  // namespace exechost::test

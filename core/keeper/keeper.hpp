// The keeper: owns environments. Loads plugins, starts local processes, talks to guests,
// holds ledger locks, and removes everything when the host's socket closes. Serves one host
// over one socket; the same code runs as a thread (placement a) and as exechost-keeper
// (placement b).
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::keeper {

struct KeeperOptions {
  std::string ledger_folder;  // cleanup::default_runtime_folder() + "/ledger"
  std::string guest_path;     // exechost-guest on this machine
  int host_pidfd = -1;        // readable when the host has ended, should its socket live on in a child of it; -1: none
  std::optional<rlimit> child_open_files;  // RLIMIT_NOFILE of started processes when this process raised its own
};

// Serves until the host closes the socket, then closes what is open, and returns. Processes are
// started on the calling thread, which therefore must outlive them (PR_SET_PDEATHSIG is the
// thread's). Never throws. False when a plugin's call never returned: its thread is left behind.
bool serve(UniqueFd socket, const KeeperOptions& options);

}  // namespace exechost::keeper

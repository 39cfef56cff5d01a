// What an ExecHost was made with, worked out once: folders, environment, installation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/host/installation.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"
#include "exechost/host.hpp"

namespace exechost::host {

// Immutable after make_context(); safe to read from any thread.
struct Context {
  KeeperPlacement placement = KeeperPlacement::child;
  std::map<std::string, std::string> environment;
  bool single_run = false;
  std::string session_owner;
  std::string process_cwd;  // when it was made
  // And what it is: the folder can be moved, and its path can lead elsewhere later. 0: not known.
  std::uint64_t process_cwd_device = 0;
  std::uint64_t process_cwd_inode = 0;
  std::string workspace;   // of the options; empty: process_cwd
  std::string system_dir;  // settings.json, managed.json
  std::string user_dir;    // settings.json
  std::string state_dir;
  std::string cache_dir;
  std::string runtime_dir;  // ledger, sockets
  Result<Installation> installation;

  std::string spill_dir() const { return state_dir + "/output"; }
  std::string keepers_dir() const { return runtime_dir + "/keepers"; }
  std::string copies_dir() const { return state_dir + "/workspaces"; }
  std::string ledger_dir() const { return runtime_dir + "/ledger"; }
  // ExecHost's own files that stay readable, and those that don't.
  std::vector<std::string> own_paths() const;
  std::vector<std::string> own_private_paths() const { return {state_dir, cache_dir, runtime_dir}; }
  // Makes those that are not there. What is there can be hidden from commands; one that came later would be seen by
  // those of a session that was opened before, and that session would seem to be another place. What can't be made now
  // is a failure where it is needed.
  void make_private_folders() const;
};

Context make_context(const HostOptions& options);

}  // namespace exechost::host

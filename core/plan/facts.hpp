// What the machine said once for a request. gather() is the only part of planning that
// looks at the machine; everything after is a pure function of what it returns.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"

namespace exechost::plan {

enum class FileKind { missing, folder, regular, symlink, other };

struct PathFact {
  FileKind kind = FileKind::missing;  // after resolving links
  std::string resolved;               // absolute, links resolved; empty when missing
  bool is_link = false;               // the path itself is a symlink
  // Where it is, or where it would be made: the part that exists resolved, the rest as given.
  std::string landing;
  // What it is (stat(2)): a path can name something else a moment later. 0: missing, or not known.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  // Every symlink that was followed on the way, by its own resolved place: whoever can write there
  // decides where the path leads.
  std::vector<std::string> links;
  bool operator==(const PathFact&) const = default;
};

struct Facts {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;              // of the effective user, resolved; empty when it has none
  std::string environment_home;  // what $HOME names, resolved, when that is another folder; else empty
  // Of other accounts of this machine, existing, resolved; those below /home too.
  std::vector<std::string> other_homes;
  std::string workspace;  // absolute, normal, links not resolved: see paths
  std::string hostname;
  std::string platform = "linux";
  int landlock_abi = 0;                            // 0: not there
  std::map<std::string, std::string> environment;  // the caller's, to build the command's from
  std::map<std::string, PathFact> paths;           // every path that planning asks about
  std::vector<std::string>
      toolchain_paths;  // in home, existing, to be shown read-only: PATH entries and version managers' folders
  std::vector<std::string>
      credential_paths;  // existing files and folders known to hold credentials, below anything shown
  // ExecHost's own files that exist or could: settings of every scope, programs, plugins, state,
  // cache, sockets. Resolved. Those below own_private_paths are hidden, the others are read-only.
  std::vector<std::string> own_paths;
  std::vector<std::string> own_private_paths;
  // Links on the way to them, by their own resolved place.
  std::vector<std::string> own_links;

  const PathFact& path(const std::string& path) const;  // a `missing` fact when it was not asked
  bool operator==(const Facts&) const = default;
};

struct FactQuery {
  // Used when settings give no workspace.path (the host puts a request's workspace into the
  // settings, where managed settings can still overrule it). Empty: process_cwd.
  std::string workspace;
  std::string process_cwd;               // empty: it is gone
  std::uint64_t process_cwd_device = 0;  // what that was when it was asked for; 0: not known
  std::uint64_t process_cwd_inode = 0;
  std::optional<std::string> cwd;              // of the request
  std::vector<std::string> own_paths;          // programs, plugins, settings: stay readable
  std::vector<std::string> own_private_paths;  // state, cache, runtime folders: hidden
  std::map<std::string, std::string> environment;
  std::string accounts = "/etc/passwd";  // where the homes of other accounts are looked up
  bool operator==(const FactQuery&) const = default;
};

class PathWatch;

// Fails with invalid_request when the workspace or the home can't be written as UTF-8, and when the
// workspace depends on a current folder that is gone, or whose path leads to another one by now. With a watch, every
// path that is looked at is covered by it (facts_cache.hpp).
Result<Facts> gather(const settings::Settings& settings, const FactQuery& query, PathWatch* watch = nullptr);

}  // namespace exechost::plan

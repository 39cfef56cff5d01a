// Whether anything changed about paths that were looked at, so that they need not be looked at again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/unique_fd.hpp"

namespace exechost::plan {

// The kernel tells (inotify(7) about entries of folders, /proc/self/mountinfo about mounts), and in the
// order of what happened: a change that was made before changed() is asked has been told. Watched are the
// folders on the way to each path, for the names that the way goes through. What can't be watched (no
// permission to read, no watches left, a file system that others change: network ones, FUSE, procfs) is
// reported by complete().
// Not safe from several threads.
class PathWatch {
 public:
  static constexpr std::size_t kMostFolders = 4096;

  // Null when this user has no more of them (fs.inotify.max_user_instances) or procfs is not there.
  static std::unique_ptr<PathWatch> make();

  // A new look begins: complete() is about what is covered from here on.
  void begin() { complete_ = true; }
  // Both before the look itself. `path` is absolute and normal; links in it are not followed.
  void cover(const std::string& path);
  void cover_every_name(const std::string& folder);
  bool complete() const { return complete_; }
  // Something was looked at that is not covered.
  void give_up() { complete_ = false; }

  // Whether something that was ever covered may be another thing since this was last asked.
  bool changed();

 private:
  struct Names {
    std::unordered_set<std::string> some;  // in lower case: some folders take one case for the other
    bool every = false;
  };
  PathWatch(UniqueFd events, UniqueFd mounts) : events_(std::move(events)), mounts_(std::move(mounts)) {}
  Names* watch(const std::string& folder);
  bool mounts_changed() const;
  bool concerns(int watch, unsigned mask, std::string name);

  UniqueFd events_;
  UniqueFd mounts_;
  struct Folder {
    int watch = -1;
    bool tells = false;  // false: others can change what is in it, and nobody hears of it
  };
  std::unordered_map<std::string, Folder> folders_;  // since the last change
  std::unordered_map<int, Names> names_;             // by watch; two paths of one folder have the same
  bool complete_ = true;
};

}  // namespace exechost::plan

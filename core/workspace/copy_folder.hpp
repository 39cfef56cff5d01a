// One copy of a workspace in the state folder: `tree`, its `base`, and `lock`, held shared by whoever works in it.
#pragma once

#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/workspace/make_copy.hpp"
#include "exechost/failure.hpp"

namespace exechost::workspace {

inline constexpr const char* kTree = "tree";

class CopyFolder {
 public:
  // The copy that is there, or invalid_request with ENOENT. `root` holds all copies, `key` is this one's name in it.
  static Result<CopyFolder> open(const std::string& root, const std::string& key);
  // Makes it when it is not there. `unavailable` while another program makes or removes it.
  static Result<CopyFolder> open_or_make(const std::string& root, const std::string& key, const std::string& workspace,
                                         const MakeOptions& options, std::vector<std::string>& left_out);
  // Those whose key begins with `prefix` and that nobody holds: their program died.
  static void remove_orphans(const std::string& root, const std::string& prefix);

  int descriptor() const { return folder_.get(); }
  const std::string& path() const { return path_; }
  Result<UniqueFd> tree() const;
  // One at a time, over all programs, while the descriptor is open.
  Result<UniqueFd> lock_for_applying() const;
  // `unavailable` while somebody else holds it; then nothing has changed.
  Result<void> remove();

 private:
  CopyFolder() = default;
  static Result<CopyFolder> open_locked(const std::string& root, const std::string& key, bool make);
  Result<void> lock(int operation) const;

  UniqueFd root_;
  UniqueFd folder_;
  UniqueFd lock_;
  std::string key_;
  std::string path_;
};

}  // namespace exechost::workspace

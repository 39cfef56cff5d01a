#include "core/workspace/copy_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"
#include "core/workspace/remove_tree.hpp"

namespace exechost::workspace {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kTries = 8;
constexpr std::string_view kRemoved = ".removed-";

// Ours alone: what lies in it is trusted to say what a workspace was like.
Result<UniqueFd> open_private(int parent, const std::string& name, const std::string& shown) {
  UniqueFd fd(::openat(parent, name.c_str(), kFolder));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return unexpected(files::from_errno(shown, "open", errno));
  if (status.st_uid != ::geteuid() || (status.st_mode & 077U) != 0) {
    return unexpected(files::refused(shown, "is somebody else's, or open to others", "make it yours, mode 0700"));
  }
  return fd;
}

Result<UniqueFd> open_root(const std::string& root, bool make) {
  std::error_code ignored;
  if (make) {
    std::filesystem::create_directories(std::filesystem::path(root).parent_path(), ignored);
    (void)::mkdir(root.c_str(), 0700);
  }
  return open_private(AT_FDCWD, root, root);
}

Failure busy(const std::string& path) {
  return files::from_errno(path, "lock", EBUSY,
                           "another program works in this copy, or makes it: try again when it is done");
}

bool same_file(int fd, int folder, const char* name) {
  struct stat one {};
  struct stat other {};
  return ::fstat(fd, &one) == 0 && ::fstatat(folder, name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool exists(int folder, const char* name) { return ::faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

}  // namespace

Result<void> CopyFolder::lock(int operation) const {
  if (::flock(lock_.get(), operation | LOCK_NB) == 0) return {};
  return unexpected(errno == EWOULDBLOCK ? busy(path_) : files::from_errno(path_, "lock", errno));
}

Result<CopyFolder> CopyFolder::open_locked(const std::string& root, const std::string& key, bool make) {
  CopyFolder copy;
  copy.key_ = key;
  copy.path_ = fmt::format("{}/{}", root, key);
  auto root_fd = open_root(root, make);
  if (!root_fd) return unexpected(root_fd.error());
  copy.root_ = std::move(*root_fd);
  // It may be removed between one step and the next: then once more.
  for (int i = 0; i < kTries; ++i) {
    if (make) (void)::mkdirat(copy.root_.get(), key.c_str(), 0700);
    auto folder = open_private(copy.root_.get(), key, copy.path_);
    if (!folder) return unexpected(folder.error());
    copy.folder_ = std::move(*folder);
    copy.lock_.reset(::openat(copy.folder_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!copy.lock_) return unexpected(files::from_errno(copy.path_, "lock", errno));
    if (auto locked = copy.lock(LOCK_SH); !locked) return unexpected(locked.error());
    if (same_file(copy.folder_.get(), copy.root_.get(), key.c_str())) return copy;
  }
  return unexpected(busy(copy.path_));
}

Result<CopyFolder> CopyFolder::open(const std::string& root, const std::string& key) {
  auto copy = open_locked(root, key, false);
  if (!copy) return copy;
  if (!exists(copy->descriptor(), "base")) return unexpected(files::from_errno(copy->path(), "open", ENOENT));
  return copy;
}

Result<CopyFolder> CopyFolder::open_or_make(const std::string& root, const std::string& key,
                                            const std::string& workspace, const MakeOptions& options,
                                            std::vector<std::string>& left_out) {
  auto copy = open_locked(root, key, true);
  if (!copy || exists(copy->descriptor(), "base")) return copy;
  // Only one may make it. Between the locks somebody else may have done so.
  if (auto alone = copy->lock(LOCK_EX); !alone) return unexpected(alone.error());
  if (!exists(copy->descriptor(), "base")) {
    if (auto removed = remove_tree(copy->descriptor(), kTree); !removed) return unexpected(removed.error());
    auto made = make_copy(workspace, copy->descriptor(), kTree, options);
    Result<void> saved;
    if (made) saved = save(made->base, copy->descriptor());
    if (!made || !saved) {
      Failure failure = made ? saved.error() : made.error();
      (void)copy->remove();
      return unexpected(std::move(failure));
    }
    left_out = std::move(made->left_out);
  }
  if (auto shared = copy->lock(LOCK_SH); !shared) return unexpected(shared.error());
  return copy;
}

Result<UniqueFd> CopyFolder::tree() const { return files::open_beneath(folder_.get(), kTree, O_RDONLY | O_DIRECTORY); }

Result<UniqueFd> CopyFolder::lock_for_applying() const {
  UniqueFd fd(::openat(folder_.get(), "apply", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return unexpected(files::from_errno(path_, "lock", errno));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return unexpected(errno == EWOULDBLOCK ? busy(path_) : files::from_errno(path_, "lock", errno));
  }
  return fd;
}

Result<void> CopyFolder::remove() {
  if (auto alone = lock(LOCK_EX); !alone) {
    (void)lock(LOCK_SH);
    return alone;
  }
  // Out of the way at once: whoever wants one by this name makes a new one.
  const std::string removed = std::string(kRemoved) + files::temporary_name();
  if (::renameat(root_.get(), key_.c_str(), root_.get(), removed.c_str()) != 0) {
    return unexpected(files::from_errno(path_, "remove", errno));
  }
  return remove_tree(root_.get(), removed);
}

void CopyFolder::remove_orphans(const std::string& root, const std::string& prefix) {
  const auto root_fd = open_root(root, false);
  if (!root_fd) return;
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) names.push_back(entry.path().filename());
  for (const std::string& name : names) {
    // Of a removal that was cut short: nobody uses it any more, whatever is locked.
    if (name.starts_with(kRemoved)) (void)remove_tree(root_fd->get(), name);
    if (!name.starts_with(prefix)) continue;
    if (auto copy = open_locked(root, name, false)) (void)copy->remove();
  }
}

}  // namespace exechost::workspace

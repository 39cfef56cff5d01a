#include "core/files/local_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <functional>
#include <utility>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"

namespace exechost::files {
namespace {

// O_NONBLOCK: a FIFO that took the name meanwhile is not waited for.
constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

std::string_view reason_of(mode_t mode) {
  if (S_ISLNK(mode)) return "link";
  if (S_ISSOCK(mode)) return "socket";
  if (S_ISFIFO(mode)) return "fifo";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "device";
  return "other";
}

bool travels(mode_t mode) { return S_ISREG(mode) || S_ISDIR(mode); }

}  // namespace

Result<std::unique_ptr<LocalTree>> LocalTree::open(int folder, const std::string& name, std::string shown,
                                                   LocalTreeOptions options) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0)) != 0) {
    return unexpected(from_errno(shown, "stat", errno));
  }
  if (S_ISLNK(status.st_mode)) return unexpected(from_errno(shown, "stat", ELOOP));
  if (!travels(status.st_mode)) {
    return unexpected(unfit(shown, "is neither a file nor a folder (" + std::string(reason_of(status.st_mode)) + ")",
                            ENOTSUP, "sockets, FIFOs and devices can't be copied"));
  }
  auto fd = open_beneath(folder, name, kRead);
  if (!fd) return unexpected(from_errno(shown, "open", fd.error().error_number));
  std::unique_ptr<LocalTree> tree(new LocalTree(std::move(options)));
  tree->root_ = std::move(*fd);
  tree->shown_ = std::move(shown);
  return tree;
}

Result<bool> LocalTree::next(Entry& entry) {
  file_.reset();
  if (root_) return give(std::move(root_), "", entry);
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.names.empty()) {
      levels_.pop_back();
      continue;
    }
    const std::string name = std::move(level.names.back());
    level.names.pop_back();
    auto given = visit(level, name, join(level.path, name), entry);
    if (!given || *given) return given;
  }
  return false;
}

// False: it does not travel.
Result<bool> LocalTree::visit(const Level& level, const std::string& name, std::string path, Entry& entry) {
  struct stat status {};
  if (::fstatat(level.fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT && !options_.complete ? Result<bool>(false) : skip(path, "unreadable", errno);
  }
  if (S_ISLNK(status.st_mode)) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(level.fd.get(), name.c_str(), target.data(), target.size());
    if (length < 0 || static_cast<std::size_t>(length) == target.size()) return skip(path, "unreadable", errno);
    entry = {};
    entry.kind = Kind::link;
    entry.path = std::move(path);
    entry.mode = 0777;
    entry.target.assign(target.data(), static_cast<std::size_t>(length));
    entry.status = status;
    return true;
  }
  if (!travels(status.st_mode)) {
    if (options_.on_skip) options_.on_skip(path, reason_of(status.st_mode));
    return false;
  }
  auto fd = open_beneath(level.fd.get(), name, kRead);
  if (!fd) {
    const int error = fd.error().error_number;
    if (error == EMFILE || error == ENFILE || error == ENOSYS) return unexpected(fd.error());
    return skip(path, "unreadable", error);
  }
  return give(std::move(*fd), std::move(path), entry);
}

Result<bool> LocalTree::give(UniqueFd fd, std::string path, Entry& entry) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return skip(path, "unreadable", errno);
  if (!travels(status.st_mode)) {  // the name was given to something else
    if (options_.on_skip) options_.on_skip(path, reason_of(status.st_mode));
    return false;
  }
  entry = {};
  entry.path = std::move(path);
  entry.mode = status.st_mode & 0777U;
  entry.status = status;
  if (S_ISDIR(status.st_mode)) {
    entry.kind = Kind::folder;
    if (auto entered = enter(std::move(fd), entry.path); !entered) return unexpected(entered.error());
    return true;
  }
  entry.kind = Kind::file;
  entry.size = static_cast<std::uint64_t>(status.st_size);
  // A file that the kernel makes up as it is read (/proc) has no size that could be announced.
  char first = 0;
  if (entry.size == 0 && ::pread(fd.get(), &first, 1, 0) == 1) {
    if (options_.on_skip) options_.on_skip(entry.path, "other");
    return false;
  }
  entry.fd = fd.get();
  file_ = std::move(fd);
  file_path_ = entry.path;
  left_ = entry.size;
  return true;
}

Result<void> LocalTree::enter(UniqueFd fd, const std::string& path) {
  if (levels_.size() > options_.limits.depth) {
    return unexpected(over_limit(join(shown_, path), "files.max_depth", options_.limits.depth));
  }
  Level level;
  level.path = path;
  const int listed = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(listed < 0 ? nullptr : ::fdopendir(listed), &::closedir);
  if (!folder) {
    const int error = errno;
    if (listed >= 0) ::close(listed);
    return unexpected(from_errno(join(shown_, path), "list", error));
  }
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(folder.get());
    if (found == nullptr) break;
    const std::string name(static_cast<const char*>(found->d_name));
    if (name == "." || name == "..") continue;
    if (++listed_ > options_.limits.entries) {
      return unexpected(over_limit(shown_, "files.max_entries", options_.limits.entries));
    }
    level.names.push_back(name);
  }
  if (errno != 0) return unexpected(from_errno(join(shown_, path), "list", errno));
  std::sort(level.names.begin(), level.names.end(), std::greater<>());
  level.fd = std::move(fd);
  levels_.push_back(std::move(level));
  return {};
}

Result<bool> LocalTree::skip(const std::string& path, std::string_view reason, int error) {
  if (options_.complete) return unexpected(from_errno(join(shown_, path), "read", error));
  if (options_.on_skip) options_.on_skip(path, reason);
  return false;
}

Result<std::size_t> LocalTree::read(char* buffer, std::size_t size) {
  if (left_ == 0) return 0;
  for (;;) {
    const ssize_t count = ::read(file_.get(), buffer, static_cast<std::size_t>(std::min<std::uint64_t>(size, left_)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unexpected(from_errno(join(shown_, file_path_), "read", errno));
    if (count == 0) return unexpected(from_errno(join(shown_, file_path_), "read", ESTALE));
    left_ -= static_cast<std::uint64_t>(count);
    return static_cast<std::size_t>(count);
  }
}

}  // namespace exechost::files

#include "core/workspace/real_file.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"
#include "core/workspace/digest.hpp"

namespace exechost::workspace {

files::Kind kind_of(mode_t mode, bool& known) {
  known = S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
  if (S_ISDIR(mode)) return files::Kind::folder;
  return S_ISLNK(mode) ? files::Kind::link : files::Kind::file;
}

Failure RealFile::failed(std::string_view step, int error) const { return files::from_errno(path_, step, error); }

Result<RealFile> RealFile::look(int workspace, const std::string& path) {
  auto parent = files::open_beneath(workspace, files::parent_path(path), O_PATH | O_DIRECTORY);
  if (!parent) return unexpected(files::from_errno(path, "open", parent.error().error_number));
  RealFile file(std::move(*parent), path);
  file.name_ = files::last_name(path);
  struct stat status {};
  if (::fstatat(file.parent_.get(), file.name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    file.status_ = status;
  } else if (errno != ENOENT) {
    return unexpected(file.failed("stat", errno));
  }
  return file;
}

Result<struct stat> RealFile::status_now() const {
  struct stat status {};
  if (::fstatat(parent_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return unexpected(failed("stat", errno));
  return status;
}

Result<bool> RealFile::matches(const Record& record, const Identity* known) const {
  if (!status_) return false;
  bool ordinary = false;
  const files::Kind kind = kind_of(status_->st_mode, ordinary);
  if (!ordinary || kind != record.kind) return false;
  if (kind == files::Kind::link) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(parent_.get(), name_.c_str(), target.data(), target.size());
    return length >= 0 && record.target == std::string_view(target.data(), static_cast<std::size_t>(length));
  }
  if ((status_->st_mode & 0777U) != record.mode) return false;
  if (kind == files::Kind::folder) return true;
  if (known != nullptr && identity_of(*status_) == *known) return true;
  auto fd = files::open_beneath(parent_.get(), name_, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!fd) return unexpected(failed("open", fd.error().error_number));
  struct stat opened {};
  if (::fstat(fd->get(), &opened) != 0 || !S_ISREG(opened.st_mode)) return false;
  auto digest = digest_of(fd->get(), static_cast<std::uint64_t>(opened.st_size), path_);
  if (!digest) return unexpected(digest.error());
  return *digest == record.sha256;
}

Result<bool> RealFile::is_as(const Record& record) const { return matches(record, &record.original); }
Result<bool> RealFile::is_like(const Record& wanted) const { return matches(wanted, nullptr); }

Result<void> RealFile::remove() {
  const bool folder = S_ISDIR(status_->st_mode);
  if (::unlinkat(parent_.get(), name_.c_str(), folder ? AT_REMOVEDIR : 0) != 0) {
    return unexpected(failed("remove", errno == ENOTEMPTY ? EEXIST : errno));
  }
  status_.reset();
  return {};
}

Result<void> RealFile::make_folder(mode_t mode) {
  if (::mkdirat(parent_.get(), name_.c_str(), mode | S_IRWXU) != 0) return unexpected(failed("mkdir", errno));
  const auto fd = files::open_beneath(parent_.get(), name_, O_RDONLY | O_DIRECTORY);
  // It stays usable for its owner: more comes into it.
  if (!fd || ::fchmod(fd->get(), mode | S_IRWXU) != 0)
    return unexpected(failed("chmod", fd ? errno : fd.error().error_number));
  return {};
}

Result<void> RealFile::set_mode(mode_t mode) {
  const auto fd = files::open_beneath(parent_.get(), name_, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!fd || ::fstat(fd->get(), &status) != 0) return unexpected(failed("chmod", fd ? errno : fd.error().error_number));
  if (identity_of(status) != identity_of(*status_)) return unexpected(failed("chmod", ESTALE));
  if (::fchmod(fd->get(), mode) != 0) return unexpected(failed("chmod", errno));
  return {};
}

// The temporary gets the name; what had it goes, if it still is what was looked at.
Result<void> RealFile::put(const std::string& temporary) {
  const auto give_up = [&](int error) {
    ::unlinkat(parent_.get(), temporary.c_str(), 0);
    return unexpected(failed("replace", error));
  };
  if (!status_) {
    if (::renameat2(parent_.get(), temporary.c_str(), parent_.get(), name_.c_str(), RENAME_NOREPLACE) == 0) return {};
    return give_up(errno);
  }
  if (::renameat2(parent_.get(), temporary.c_str(), parent_.get(), name_.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL) return give_up(errno);
    // A file system without an exchange: the look is as fresh as it gets.
    if (::renameat(parent_.get(), temporary.c_str(), parent_.get(), name_.c_str()) == 0) return {};
    return give_up(errno);
  }
  struct stat old {};
  const bool same = ::fstatat(parent_.get(), temporary.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 &&
                    old.st_ino == status_->st_ino && old.st_size == status_->st_size &&
                    old.st_mtim.tv_sec == status_->st_mtim.tv_sec && old.st_mtim.tv_nsec == status_->st_mtim.tv_nsec;
  if (same) {
    ::unlinkat(parent_.get(), temporary.c_str(), 0);
    return {};
  }
  // Somebody was quicker: theirs goes back to its place.
  if (::renameat2(parent_.get(), temporary.c_str(), parent_.get(), name_.c_str(), RENAME_EXCHANGE) != 0) {
    return unexpected(files::from_errno(files::join(files::parent_path(path_), temporary), "restore", errno,
                                        "somebody changed the file at this moment; it lies under this name now"));
  }
  return give_up(ESTALE);
}

Result<void> RealFile::put_link(const std::string& target) {
  const std::string temporary = files::temporary_name();
  if (::symlinkat(target.c_str(), parent_.get(), temporary.c_str()) != 0) return unexpected(failed("symlink", errno));
  return put(temporary);
}

Result<void> RealFile::put_file(int from, mode_t mode, std::string& sha256) {
  struct stat source {};
  if (::fstat(from, &source) != 0) return unexpected(failed("read", errno));
  const std::string temporary = files::temporary_name();
  auto fd = files::open_beneath(parent_.get(), temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd) return unexpected(failed("create", fd.error().error_number));
  auto digest =
      digest_of(from, static_cast<std::uint64_t>(source.st_size), path_, [&](std::string_view piece) -> Result<void> {
        while (!piece.empty()) {
          const ssize_t count = ::write(fd->get(), piece.data(), piece.size());
          if (count < 0 && errno == EINTR) continue;
          if (count < 0) return unexpected(failed("write", errno));
          piece.remove_prefix(static_cast<std::size_t>(count));
        }
        return {};
      });
  std::optional<Failure> failure;
  if (!digest) failure = digest.error();
  // Whoever had it before keeps it, where we may say so.
  if (!failure && status_ && ::geteuid() == 0 && ::fchown(fd->get(), status_->st_uid, status_->st_gid) != 0)
    failure = failed("chown", errno);
  if (!failure && ::fchmod(fd->get(), mode) != 0) failure = failed("chmod", errno);
  if (::close(fd->release()) != 0 && !failure) failure = failed("write", errno);
  if (failure) {
    ::unlinkat(parent_.get(), temporary.c_str(), 0);
    return unexpected(std::move(*failure));
  }
  sha256 = std::move(*digest);
  return put(temporary);
}

}  // namespace exechost::workspace

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "guest/files/builtin.hpp"
#include "guest/files/kernel_entry.hpp"
#include "guest/files/report.hpp"
#include "guest/files/tar.hpp"

namespace exechost::guest::files {

namespace {

// Folder by folder, each held open, over no link and onto no other mount.
// Bind mounts have their source's device.
bool is_mount(int folder_fd, const char* name) {
  struct statx seen {};
  return ::statx(folder_fd, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0, &seen) == 0 &&
         (seen.stx_attributes_mask & seen.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

class Remover {
 public:
  // The errno.
  int remove(int folder_fd, const char* name, dev_t device, int depth) {
    struct stat status {};
    if (::fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    if (!S_ISDIR(status.st_mode)) {
      if (::unlinkat(folder_fd, name, 0) != 0) return errno;
      ++totals_.files;
      return 0;
    }
    if (status.st_dev != device || is_mount(folder_fd, name)) return EXDEV;
    if (depth > tar::kMaxDepth) return E2BIG;
    const int fd = ::openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return errno;
    const int error = empty(fd, device, depth);
    ::close(fd);
    if (error != 0) return error;
    if (::unlinkat(folder_fd, name, AT_REMOVEDIR) != 0) return errno;
    ++totals_.folders;
    return 0;
  }

  const Totals& totals() const { return totals_; }

 private:
  // A folder that changes while it is read may not give every name at once: until there is none.
  int empty(int fd, dev_t device, int depth) {
    constexpr int kMostRounds = 1000;
    for (int round = 0; round < kMostRounds; ++round) {
      bool any = false;
      int error = 0;
      if (::lseek(fd, 0, SEEK_SET) < 0) return errno;
      const int read = for_each_name(fd, [&](const char* name) {
        if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) return true;
        any = true;
        error = remove(fd, name, device, depth + 1);
        if (error == ENOENT) error = 0;  // somebody else did
        return error == 0;
      });
      if (read != 0) return read;
      if (error != 0 || !any) return error;
    }
    return ENOTEMPTY;
  }

  Totals totals_;
};

bool is_root(const char* path) {
  struct stat wanted {};
  struct stat root {};
  return ::fstatat(AT_FDCWD, path, &wanted, AT_SYMLINK_NOFOLLOW) == 0 && ::stat("/", &root) == 0 &&
         wanted.st_dev == root.st_dev && wanted.st_ino == root.st_ino;
}

}  // namespace

int remove(const char* path) {
  Totals totals;
  if (::unlinkat(AT_FDCWD, path, 0) == 0) {
    totals.files = 1;
    return report_done(totals);
  }
  if (errno != EISDIR) return report_failed("remove", errno, path);
  if (::unlinkat(AT_FDCWD, path, AT_REMOVEDIR) != 0) return report_failed("remove", errno, path);
  totals.folders = 1;
  return report_done(totals);
}

int remove_tree(const char* path) {
  struct stat status {};
  if (::fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return report_failed("stat", errno, path);
  if (is_root(path)) return report_failed("remove", EBUSY, path);
  Remover remover;
  if (const int error = remover.remove(AT_FDCWD, path, status.st_dev, 0); error != 0)
    return report_failed("remove", error, path);
  return report_done(remover.totals());
}

}  // namespace exechost::guest::files

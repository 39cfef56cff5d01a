#include "guest/confine/mounts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace exechost::guest {

namespace {

// The initial user namespace maps every number to itself (user_namespaces(7)); in doubt this is it.
bool has_own_user_namespace() {
  const int fd = ::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char map[256] = {};
  const ssize_t count = ::read(fd, map, sizeof map - 1);
  ::close(fd);
  return count > 0 && std::strstr(map, "4294967295") == nullptr;
}

// Whether a mount outside would appear here (proc_pid_mountinfo(5), optional fields); in doubt so. Only for the
// time that a copy takes, so what stands in a name is of no matter.
bool follows_other_mounts() {
  constexpr char kMaster[] = " master:";
  constexpr std::size_t kKept = sizeof kMaster - 2;  // of what may be cut in two
  const int fd = ::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char text[4096];
  std::size_t kept = 0;
  bool found = false;
  for (ssize_t count = 0; !found && (count = ::read(fd, text + kept, sizeof text - 1 - kept)) > 0;) {
    const std::size_t size = kept + static_cast<std::size_t>(count);
    text[size] = 0;
    found = std::strstr(text, kMaster) != nullptr;
    kept = size < kKept ? size : kKept;
    std::memmove(text, text + size - kept, kept);
  }
  ::close(fd);
  return found;
}

}  // namespace

Outcome cut_off_mounts() {
  if (::getpid() != 1 || !has_own_user_namespace()) return success();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return success();
  if (errno != EPERM) return failure(Step::mounts, errno);
  // They belong to an outer user namespace, as bwrap leaves them for an ordinary user. A copy of them is ours;
  // what its maker mounted stays as it is there, too (mount_namespaces(7), "locked").
  if (!follows_other_mounts()) return success();
  if (::unshare(CLONE_NEWNS) != 0) return errno == EPERM ? success() : failure(Step::mounts, errno);
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? success() : failure(Step::mounts, errno);
}

}  // namespace exechost::guest

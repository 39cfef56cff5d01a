#include "guest/confine/mounts.hpp"

#include <fcntl.h>
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

}  // namespace

Outcome cut_off_mounts() {
  if (::getpid() != 1 || !has_own_user_namespace()) return success();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return success();
  // EPERM: it has no capability for it, or the mounts belong to an outer user namespace.
  return errno == EPERM ? success() : failure(Step::mounts, errno);
}

}  // namespace exechost::guest

#include "tests/mutants/runner/namespaces.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

namespace mutants {
namespace {

int write_file(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = written == static_cast<ssize_t>(text.size()) ? 0 : errno;
  ::close(fd);
  return error;
}

// Only root may make the others without a user namespace around them. Everybody keeps his number.
int enter_user_namespace() {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return errno;
  if (const int error = write_file("/proc/self/setgroups", "deny"); error != 0) return error;
  if (const int error = write_file("/proc/self/uid_map", user + " " + user + " 1"); error != 0) return error;
  return write_file("/proc/self/gid_map", group + " " + group + " 1");
}

}  // namespace

int enter_namespaces(const Options& options) {
  int wanted = 0;
  if (options.namespaces) wanted |= CLONE_NEWPID | CLONE_NEWNS;
  if (options.offline) wanted |= CLONE_NEWNET;
  if (wanted == 0) return 0;
  if (::geteuid() != 0) {
    if (const int error = enter_user_namespace(); error != 0) return error;
  }
  if (::unshare(wanted) != 0) return errno;
  if (options.namespaces && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  return 0;
}

void show_own_processes() {
  // Refused below another container's masked /proc; then the outer one stays.
  ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
}

}  // namespace mutants

#include "guest/exec/cgroup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include "guest/files/kernel_entry.hpp"

namespace exechost::guest {

namespace {

// The cgroups in a cgroup; its files can't be removed, and need not be.
void remove_below(int folder, int depth) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest) return;
  files::for_each_name(folder, [folder, depth](const char* name) {
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) return true;
    if (::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno != EBUSY) return true;
    const int inner = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) return true;
    remove_below(inner, depth + 1);
    ::close(inner);
    ::unlinkat(folder, name, AT_REMOVEDIR);
    return true;
  });
}

}  // namespace

Outcome Cgroup::make() {
  if (path_ == nullptr) return success();
  constexpr mode_t kMode = 0755;
  return ::mkdir(path_, kMode) == 0 ? find() : failure(Step::cgroup, errno);
}

Outcome Cgroup::find() {
  if (path_ == nullptr) return success();
  const int folder = ::open(path_, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return failure(Step::cgroup, errno);
  procs_fd_ = ::openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  kill_fd_ = procs_fd_ < 0 ? -1 : ::openat(folder, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  events_fd_ = kill_fd_ < 0 ? -1 : ::openat(folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
  const int error = errno;
  ::close(folder);
  return events_fd_ < 0 ? failure(Step::cgroup, error) : success();
}

Outcome Cgroup::join() const {
  if (path_ == nullptr) return success();
  return ::write(procs_fd_, "0", 1) == 1 ? success() : failure(Step::cgroup, errno);
}

void Cgroup::kill() const {
  if (path_ == nullptr) return;
  // Fails only when the folder is gone, and with it every member.
  [[maybe_unused]] const ssize_t written = ::write(kill_fd_, "1", 1);
}

bool Cgroup::is_empty() const {
  if (path_ == nullptr) return true;
  char text[256];
  const ssize_t size = ::pread(events_fd_, text, sizeof text - 1, 0);
  if (size < 0) return errno == ENODEV;  // removed
  text[size] = 0;
  return std::strstr(text, "populated 0") != nullptr;
}

void Cgroup::remove() const {
  if (path_ == nullptr) return;
  constexpr int kTries = 20;
  constexpr timespec kPause{0, 2'000'000};
  for (int i = 0; i < kTries && !try_to_remove() && errno == EBUSY; ++i) ::nanosleep(&kPause, nullptr);
}

bool Cgroup::try_to_remove() const {
  if (path_ == nullptr || ::rmdir(path_) == 0 || errno == ENOENT) return true;
  // A command may have made some in it.
  const int folder = ::open(path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno == ENOENT;
  remove_below(folder, 0);
  ::close(folder);
  return ::rmdir(path_) == 0 || errno == ENOENT;
}

void Cgroup::let_go() {
  for (int* fd : {&procs_fd_, &kill_fd_, &events_fd_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace exechost::guest

#include "core/plan/path_watch.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

namespace exechost::plan {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB;

// Nobody changes these behind this kernel's back, and inotify tells of every change in them.
bool tells_of_changes(const std::string& folder) {
  constexpr std::uint32_t kZfs = 0x2fc12fc1;
  constexpr std::uint32_t kBcachefs = 0xca451a4e;
  constexpr std::array<std::uint32_t, 10> kLocal{
      EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC,     XFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC,
      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, SQUASHFS_MAGIC,  kZfs,        kBcachefs};
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) return false;
  const auto type = static_cast<std::uint32_t>(status.f_type);
  return std::find(kLocal.begin(), kLocal.end(), type) != kLocal.end();
}

// Nothing when letters are in it that may have another case than the ones known here.
bool to_lower(std::string& name) {
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) >= 0x80) return false;
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return true;
}

}  // namespace

std::unique_ptr<PathWatch> PathWatch::make() {
  UniqueFd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  UniqueFd mounts(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!events || !mounts) return nullptr;
  return std::unique_ptr<PathWatch>(new PathWatch(std::move(events), std::move(mounts)));
}

PathWatch::Names* PathWatch::watch(const std::string& folder) {
  if (const auto known = folders_.find(folder); known != folders_.end()) {
    if (!known->second.tells) complete_ = false;
    const auto names = names_.find(known->second.watch);
    return names == names_.end() ? nullptr : &names->second;
  }
  if (folders_.size() >= kMostFolders) {
    complete_ = false;
    return nullptr;
  }
  const int watch = ::inotify_add_watch(events_.get(), folder.c_str(), kEvents | IN_ONLYDIR | IN_DONT_FOLLOW);
  if (watch < 0) {
    // Nothing there, or no folder: whatever takes its place is told by the folder above.
    if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) complete_ = false;
    return nullptr;
  }
  const bool tells = tells_of_changes(folder);
  folders_.emplace(folder, Folder{watch, tells});
  if (!tells) complete_ = false;
  return &names_[watch];
}

void PathWatch::cover(const std::string& path) {
  std::size_t slash = 0;
  while (slash + 1 < path.size()) {
    const std::size_t end = std::min(path.find('/', slash + 1), path.size());
    Names* names = watch(slash == 0 ? "/" : path.substr(0, slash));
    if (names == nullptr) return;
    std::string name = path.substr(slash + 1, end - slash - 1);
    if (to_lower(name)) {
      names->some.insert(std::move(name));
    } else {
      names->every = true;
    }
    slash = end;
  }
}

void PathWatch::cover_every_name(const std::string& folder) {
  cover(folder);
  if (Names* names = watch(folder)) names->every = true;
}

bool PathWatch::mounts_changed() const {
  // proc_pid_mountinfo(5): a change since the last poll is reported as an exceptional condition.
  pollfd asked{mounts_.get(), POLLPRI, 0};
  return ::poll(&asked, 1, 0) != 0;
}

bool PathWatch::concerns(int watch, unsigned mask, std::string name) {
  if ((mask & IN_Q_OVERFLOW) != 0) return true;
  const auto names = names_.find(watch);
  if (names == names_.end()) return false;
  if ((mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
    if ((mask & IN_IGNORED) != 0) names_.erase(names);
    return true;
  }
  // Without a name it is about the folder itself: who may search it.
  if (name.empty() || names->second.every || !to_lower(name)) return true;
  return names->second.some.contains(name);
}

bool PathWatch::changed() {
  bool changed = mounts_changed();
  alignas(inotify_event) std::array<char, 16UL * 1024> buffer;
  for (;;) {
    const ssize_t length = ::read(events_.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) break;
    if (length <= 0) return true;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const name = buffer.data() + at + sizeof event;
      if (concerns(event.wd, event.mask, event.len == 0 ? std::string() : std::string(name))) changed = true;
      at += sizeof event + event.len;
    }
  }
  // The same path may lead to another folder now. The watches stay: most are asked for again.
  if (changed) folders_.clear();
  return changed;
}

}  // namespace exechost::plan

#include "core/plan/machine.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <deque>
#include <memory>

#include "core/base/unique_fd.hpp"
#include "core/plan/paths.hpp"

namespace exechost::plan {
namespace {

constexpr int kMaxLinks = 40;  // what the kernel follows

FileKind kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return FileKind::folder;
  if (S_ISREG(mode)) return FileKind::regular;
  if (S_ISLNK(mode)) return FileKind::symlink;
  return FileKind::other;
}

void prepend_components(std::deque<std::string>& components, const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  components.insert(components.begin(), parts.begin(), parts.end());
}

std::optional<std::string> read_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) >= target.size()) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(length));
}

// What is left of the path when a component doesn't exist: appended as it is.
std::string with_rest(std::string place, const std::deque<std::string>& rest) {
  for (const std::string& component : rest) place = expand_path(component, place, "/");
  return place;
}

// 0, or errno: ELOOP when there is a link anywhere in the path.
int look_without_links(const std::string& place, struct stat& status) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, place.c_str(), &how, sizeof how)));
  if (!fd) return errno;
  return ::fstat(fd.get(), &status) == 0 ? 0 : errno;
}

void identify(const struct stat& status, PathFact& fact) {
  fact.kind = kind_of(status.st_mode);
  fact.device = status.st_dev;
  fact.inode = status.st_ino;
}

// What is at a path that had no link in it a moment ago. If it has one now, somebody exchanges things
// while we look: then it is something that nothing can be the same as, and what would show it does not
// run.
void identify_place(const std::string& place, PathFact& fact) {
  struct stat status {};
  int error = look_without_links(place, status);
  if (error == ENOSYS) error = ::lstat(place.c_str(), &status) == 0 ? 0 : errno;
  if (error == 0) return identify(status, fact);
  fact.kind = FileKind::other;
  fact.inode = ~std::uint64_t{0};
}

// Most paths are what they seem: one look by the kernel says so. Nothing when it takes a closer one.
std::optional<PathFact> inspect_plain(const std::string& absolute) {
  if (!is_normal(absolute)) return std::nullopt;
  PathFact fact;
  struct stat status {};
  const int error = look_without_links(absolute, status);
  // ENOENT: no link on the way to where it ends, either.
  if (error != 0 && error != ENOENT) return std::nullopt;
  fact.landing = absolute;
  if (error == ENOENT) return fact;
  identify(status, fact);
  fact.resolved = absolute;
  return fact;
}

}  // namespace

PathFact inspect_path(const std::string& absolute, std::vector<std::string>* way) {
  if (auto plain = inspect_plain(absolute)) return std::move(*plain);
  PathFact fact;
  struct stat status {};
  fact.is_link = ::lstat(absolute.c_str(), &status) == 0 && S_ISLNK(status.st_mode);

  std::deque<std::string> components;
  prepend_components(components, absolute);
  std::string place = "/";
  while (!components.empty()) {
    const std::string component = components.front();
    if (component == "." || component == "..") {
      components.pop_front();
      if (component == "..") place = parent_of(place);
      continue;
    }
    const std::string next = join_path(place, component);
    if (way != nullptr) way->push_back(next);
    if (::lstat(next.c_str(), &status) != 0) {
      fact.landing = with_rest(place, components);
      return fact;
    }
    components.pop_front();
    if (!S_ISLNK(status.st_mode)) {
      place = next;
      continue;
    }
    const std::optional<std::string> target = read_link(next);
    fact.links.push_back(next);
    if (!target || fact.links.size() > kMaxLinks) {
      fact.landing = with_rest(next, components);
      return fact;
    }
    prepend_components(components, *target);
    if (target->starts_with('/')) place = "/";
  }
  identify_place(place, fact);
  fact.resolved = place;
  fact.landing = place;
  return fact;
}

std::optional<std::vector<std::string>> names_in(const std::string& folder, std::size_t limit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.c_str()), ::closedir);
  if (!stream) return std::nullopt;
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return std::nullopt;
    if (entry == nullptr) break;
    const std::string name = static_cast<const char*>(entry->d_name);
    if (name == "." || name == "..") continue;
    if (names.size() == limit) break;
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int landlock_abi() {
  constexpr unsigned kVersionFlag = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag);
  return version > 0 ? static_cast<int>(version) : 0;
}

std::optional<std::string> database_home(uid_t uid) {
  std::vector<char> buffer(1024);
  passwd entry{};
  passwd* found = nullptr;
  int error = ERANGE;
  while ((error = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
         buffer.size() < 1024UL * 1024) {
    buffer.resize(buffer.size() * 2);
  }
  if (error != 0 || found == nullptr || entry.pw_dir == nullptr || *entry.pw_dir != '/') return std::nullopt;
  return std::string(entry.pw_dir);
}

std::vector<std::string> account_homes(const std::string& database) {
  constexpr uid_t kFirstPerson = 1000;
  constexpr std::size_t kMaxHomes = 1024;
  std::vector<std::string> homes;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(database.c_str(), "re"), std::fclose);
  if (!file) return homes;
  std::vector<char> buffer(16UL * 1024);
  passwd entry{};
  passwd* found = nullptr;
  while (homes.size() < kMaxHomes && ::fgetpwent_r(file.get(), &entry, buffer.data(), buffer.size(), &found) == 0) {
    if (found->pw_uid < kFirstPerson || found->pw_dir == nullptr || *found->pw_dir != '/') continue;
    const std::string shell = found->pw_shell == nullptr ? "" : found->pw_shell;
    if (shell.ends_with("/nologin") || shell.ends_with("/false")) continue;
    homes.emplace_back(found->pw_dir);
  }
  std::sort(homes.begin(), homes.end());
  homes.erase(std::unique(homes.begin(), homes.end()), homes.end());
  return homes;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

}  // namespace exechost::plan

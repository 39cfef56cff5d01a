#include "core/gateway/places.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/gateway/failures.hpp"
#include "core/gateway/open_beneath.hpp"
#include "core/gateway/patience.hpp"
#include "core/plan/paths.hpp"

namespace exechost::gateway {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
// A name that was removed between lookup and question is looked up again; this often in a row
// somebody is doing it on purpose.
constexpr int kTries = 64;

// Files in these are questions to the kernel, whatever their kind says.
constexpr std::array<long, 11> kKernelFileSystems{
    PROC_SUPER_MAGIC, SYSFS_MAGIC,      DEVPTS_SUPER_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
    TRACEFS_MAGIC,    SECURITYFS_MAGIC, BPF_FS_MAGIC,       SELINUX_MAGIC,      NSFS_MAGIC};

bool is_kernels_own(int fd) {
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return true;
  return std::find(kKernelFileSystems.begin(), kKernelFileSystems.end(), static_cast<long>(status.f_type)) !=
         kKernelFileSystems.end();
}

Result<OpenedRoot> open_root(const Root& root) {
  auto target = open_without_links(root.source, O_PATH | O_NOFOLLOW);
  if (!target) return unexpected(target.error());
  struct stat status {};
  if (::fstat(target->get(), &status) != 0) return unexpected(from_errno(root.source, "fstat", errno));
  if (is_kernels_own(target->get())) return unexpected(refused(root.source, "is a file system of the kernel's"));
  if (S_ISDIR(status.st_mode)) return OpenedRoot{root.path, root.source, root.source, std::move(*target)};
  if (!S_ISREG(status.st_mode)) return unexpected(refused(root.source, "is neither a folder nor a regular file"));
  // By its folder: a file that is replaced by a rename is to be seen as it is then.
  const std::string parent = plan::parent_of(root.source);
  auto folder = open_without_links(parent, O_PATH | O_DIRECTORY);
  if (!folder) return unexpected(folder.error());
  return OpenedRoot{root.path, root.source, parent, std::move(*folder)};
}

// Without doubled slashes and "."; ".." stays, for only the kernel knows where it leads. A slash at
// the end stays too: it means that there has to be a folder.
std::string tidy(std::string_view path) {
  std::string result;
  bool wants_folder = false;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view name = path.substr(start, slash - start);
    wants_folder = slash < path.size() || name == ".";
    if (!name.empty() && name != ".") {
      result += '/';
      result += name;
    }
    start = slash + 1;
  }
  if (result.empty() || wants_folder) result += '/';
  return result;
}

// What is left of a tidy `path` behind `root`, for openat2; nothing when it isn't there.
std::optional<std::string> behind(std::string_view path, std::string_view root) {
  if (root == "/") root = "";
  if (!path.starts_with(root)) return std::nullopt;
  std::string_view rest = path.substr(root.size());
  if (rest.empty()) return ".";
  if (rest.front() != '/') return std::nullopt;
  rest.remove_prefix(1);
  return rest.empty() ? "./" : std::string(rest);
}

struct Target {
  const OpenedRoot* root = nullptr;
  std::string relative;
};

std::optional<Target> target_of(const std::vector<OpenedRoot>& roots, std::string_view path) {
  std::optional<Target> best;
  for (const OpenedRoot& root : roots) {
    auto rest = behind(path, root.path);
    if (!rest || (best && best->root->path.size() >= root.path.size())) continue;
    if (root.folder != root.source) {
      // "." is the file itself, "./" the file as a folder, which fails as it should.
      const std::string name = root.source.substr(root.source.rfind('/') + 1);
      rest = *rest == "." ? name : name + '/' + *rest;
    }
    best = Target{&root, std::move(*rest)};
  }
  return best;
}

// Whether the name that the kernel gave for a descriptor still leads there.
bool leads_to(const OpenedRoot& root, const std::string& host_path, const struct stat& status,
              const Patience& patience) {
  BeneathRequest request;
  request.folder = root.fd.get();
  request.relative = behind(host_path, root.folder).value_or("");
  request.flags = O_PATH | O_NOFOLLOW;
  request.links = false;
  request.step = "lookup";
  auto again = open_beneath(request, patience);
  struct stat other {};
  return again && ::fstat(again->get(), &other) == 0 && other.st_dev == status.st_dev && other.st_ino == status.st_ino;
}

Result<void> check_visible(const AccessRules& rules, const Located& file) {
  if (rules.decide(file.host_path) == Access::hidden) return unexpected(refused(file.shown, "is hidden"));
  if (file.is_regular() && rules.is_hidden_file(file.status)) {
    return unexpected(refused(file.shown, "is another name of a file that is hidden"));
  }
  return {};
}

}  // namespace

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::regular;
  if (S_ISDIR(mode)) return FileKind::folder;
  if (S_ISLNK(mode)) return FileKind::symlink;
  return FileKind::other;
}

Result<Places> Places::open(const Policy& policy) {
  Places places;
  if (::access("/proc/thread-self/fd", F_OK) != 0) {
    Failure failure = from_errno("/proc", "lookup", errno);
    failure.kind = FailureKind::unsupported;
    failure.message = "/proc is not mounted, without which the gateway tier can't know where a link led to";
    failure.hint = "use tier \"sandbox\"";
    return unexpected(failure);
  }
  for (const Root& root : policy.roots) {
    auto opened = open_root(root);
    if (opened) {
      places.roots_.push_back(std::move(*opened));
    } else if (root.source == policy.workspace || opened.error().kind == FailureKind::unsupported) {
      return unexpected(opened.error());
    }
  }
  return places;
}

Result<Located> Places::locate(const AccessRules& rules, std::string_view path, std::string_view from, FinalLink link,
                               const Patience& patience) const {
  if (path.empty()) return unexpected(unfit(path, "is not a path", ENOENT));
  if (path.find('\0') != std::string_view::npos) return unexpected(unfit(path, "contains a NUL byte", EINVAL));
  const std::string full = path.front() == '/' ? std::string(path) : std::string(from) + '/' + std::string(path);
  const auto target = target_of(roots_, tidy(full));
  if (!target) {
    return unexpected(refused(path, "is outside of what the gateway may reach",
                              "filesystem.allow_read makes a path readable here; tier \"sandbox\" sees the system"));
  }
  BeneathRequest request;
  request.folder = target->root->fd.get();
  request.relative = target->relative;
  request.flags = O_PATH | (link == FinalLink::keep ? O_NOFOLLOW : 0);
  request.shown = path;
  request.step = "open";
  for (int i = 0; i < kTries; ++i) {
    auto fd = open_beneath(request, patience);
    if (!fd) return unexpected(fd.error());
    auto name = name_of_descriptor(fd->get(), path);
    if (!name) return unexpected(name.error());
    Located found;
    if (::fstat(fd->get(), &found.status) != 0) return unexpected(from_errno(path, "fstat", errno));
    found.fd = std::move(*fd);
    found.host_path = std::move(*name);
    found.shown = std::string(path);
    found.root = target->root;
    if (!found.is_folder() && found.status.st_nlink == 0) continue;
    if (found.host_path.ends_with(kDeleted) && !leads_to(*found.root, found.host_path, found.status, patience))
      continue;
    // Not beneath by name: the root itself was moved, or a link led from a file's root to its neighbour.
    if (!plan::is_at_or_below(found.host_path, found.root->source)) {
      return unexpected(refused(path, "is not where the policy means"));
    }
    if (auto visible = check_visible(rules, found); !visible) return unexpected(visible.error());
    return found;
  }
  return unexpected(from_errno(path, "open", EAGAIN));
}

Result<Located> Places::locate_below(const AccessRules& rules, const Located& start, std::string_view relative,
                                     const Patience& patience) {
  Located found;
  found.shown = relative.empty() ? start.shown : plan::join_path(start.shown, relative);
  if (relative.empty()) {
    found.fd.reset(::fcntl(start.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!found.fd) return unexpected(from_errno(found.shown, "open", errno));
  } else {
    BeneathRequest request;
    request.folder = start.fd.get();
    request.relative = std::string(relative);
    request.flags = O_PATH | O_NOFOLLOW;
    request.links = false;
    request.shown = found.shown;
    request.step = "open";
    auto fd = open_beneath(request, patience);
    if (!fd) return unexpected(fd.error());
    found.fd = std::move(*fd);
  }
  if (::fstat(found.fd.get(), &found.status) != 0) return unexpected(from_errno(found.shown, "fstat", errno));
  found.host_path = relative.empty() ? start.host_path : plan::join_path(start.host_path, relative);
  found.root = start.root;
  if (auto visible = check_visible(rules, found); !visible) return unexpected(visible.error());
  return found;
}

Result<UniqueFd> open_contents(const Located& file) {
  if (file.is_folder()) return unexpected(unfit(file.shown, "is a folder", EISDIR));
  if (!file.is_regular()) {
    return unexpected(refused(file.shown, "is neither a regular file nor a folder: it is not opened"));
  }
  UniqueFd contents(::open(descriptor_path(file.fd.get()).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!contents) return unexpected(from_errno(file.shown, "open", errno));
  return contents;
}

Result<UniqueFd> open_entries(const Located& folder) {
  if (!folder.is_folder()) return unexpected(unfit(folder.shown, "is not a folder", ENOTDIR));
  UniqueFd entries(
      ::open(descriptor_path(folder.fd.get()).c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!entries) return unexpected(from_errno(folder.shown, "open", errno));
  return entries;
}

}  // namespace exechost::gateway

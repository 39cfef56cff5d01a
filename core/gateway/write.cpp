#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/gateway/failures.hpp"
#include "core/gateway/open_beneath.hpp"
#include "core/gateway/operations.hpp"
#include "core/gateway/protected_names.hpp"
#include "core/gateway/replacement.hpp"
#include "core/plan/paths.hpp"

namespace exechost::gateway {
namespace {

constexpr mode_t kPermissionBits = 0777;
constexpr mode_t kPrivateMode = 0600;
constexpr mode_t kNewFileMode = 0666;
// A name that comes and goes while it is looked up.
constexpr int kTries = 16;
// Parts of protected folders that are links themselves often enough.
constexpr std::array<std::string_view, 2> kGitParts{".git/hooks", ".git/config"};

struct Target {
  Located folder;
  std::string name;
  std::optional<Located> existing;

  std::string host_path() const { return plan::join_path(folder.host_path, name); }
};

Result<void> check_request(const Limits& limits, std::string_view path, std::string_view bytes,
                           const WriteOptions& options) {
  if (!options.create && !options.replace) {
    return unexpected(unfit(path, "can be neither created nor replaced: both options are off", EINVAL));
  }
  if (options.mode && (*options.mode & ~kPermissionBits) != 0) {
    return unexpected(unfit(path, fmt::format("can't get mode {:o}: only 0777 may be set", *options.mode), EINVAL));
  }
  if (bytes.size() > limits.write_bytes) {
    return unexpected(unfit(path, fmt::format("would get more than {} bytes", limits.write_bytes), EFBIG,
                            "use tier \"sandbox\" for big files"));
  }
  rlimit allowed{};
  // Writing beyond it is a signal to the whole process, not an error.
  if (::getrlimit(RLIMIT_FSIZE, &allowed) == 0 && allowed.rlim_cur != RLIM_INFINITY &&
      bytes.size() > allowed.rlim_cur) {
    return unexpected(unfit(path, "would be larger than this process may make a file (RLIMIT_FSIZE)", EFBIG));
  }
  return {};
}

// Nothing when it changed while it was looked at.
Result<std::optional<Target>> target_of_existing(const Gateway::Parts& parts, Located file, const Patience& patience) {
  if (file.is_folder()) return unexpected(unfit(file.shown, "is a folder", EISDIR));
  if (!file.is_regular()) return unexpected(refused(file.shown, "is not a regular file: it is not replaced"));
  const std::string parent = plan::parent_of(file.host_path);
  auto folder = parts.locate(parent, {}, FinalLink::follow, patience);
  if (!folder) return unexpected(folder.error());
  if (!folder->is_folder() || folder->host_path != parent) return std::nullopt;
  Target target;
  target.folder = std::move(*folder);
  target.name = file.host_path.substr(file.host_path.rfind('/') + 1);
  target.existing = std::move(file);
  return target;
}

Result<std::optional<Target>> target_of_new(const Gateway::Parts& parts, std::string_view path,
                                            const Patience& patience) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return unexpected(unfit(path, "does not name a file", EISDIR));
  }
  const std::string_view parent = slash == std::string_view::npos ? "." : path.substr(0, slash + 1);
  auto folder = parts.locate(parent, {}, FinalLink::follow, patience);
  if (!folder) return unexpected(folder.error());
  if (!folder->is_folder()) return unexpected(unfit(parent, "is not a folder", ENOTDIR));
  Target target;
  target.folder = std::move(*folder);
  target.name = std::string(name);
  struct stat status {};
  if (::fstatat(target.folder.fd.get(), target.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(status.st_mode)) return unexpected(refused(path, "is a link that leads nowhere"));
    return std::nullopt;  // it has come into being meanwhile
  }
  if (errno != ENOENT) return unexpected(from_errno(path, "stat", errno));
  return target;
}

Result<Target> find_target(const Gateway::Parts& parts, std::string_view path, const WriteOptions& options,
                           const Patience& patience) {
  for (int i = 0; i < kTries; ++i) {
    auto existing = parts.locate(path, {}, FinalLink::follow, patience);
    if (!existing && (existing.error().error_number != ENOENT || !options.create || path.empty())) {
      return unexpected(existing.error());
    }
    auto target =
        existing ? target_of_existing(parts, std::move(*existing), patience) : target_of_new(parts, path, patience);
    if (!target) return unexpected(target.error());
    if (*target) return std::move(**target);
  }
  return unexpected(from_errno(path, "open", EAGAIN));
}

// A protected name at the top of the workspace that is a link: where it leads is protected too.
bool is_behind_a_protected_link(const Gateway::Parts& parts, const std::string& host_path, const Patience& patience) {
  const std::string& workspace = parts.policy.workspace;
  const auto leads_above = [&](std::string_view name) {
    const std::string place = plan::join_path(workspace, name);
    const auto located = parts.locate(place, {}, FinalLink::follow, patience);
    return located && located->host_path != place && plan::is_at_or_below(host_path, located->host_path);
  };
  return std::any_of(parts.policy.protected_names.begin(), parts.policy.protected_names.end(), leads_above) ||
         std::any_of(kGitParts.begin(), kGitParts.end(), leads_above);
}

// What `path` says about the inside of the workspace. Above it names mean nothing: a workspace may
// well lie in somebody's ".codex".
std::string_view inside(std::string_view path, const std::string& workspace) {
  if (!path.starts_with('/')) return path;
  return plan::is_below(path, workspace) ? path.substr(workspace.size()) : path.substr(path.rfind('/') + 1);
}

Result<void> check_policy(const Gateway::Parts& parts, std::string_view path, const Target& target,
                          const Patience& patience) {
  const std::string host_path = target.host_path();
  const std::string_view why = parts.rules.why_not_writable(host_path);
  if (!why.empty()) return unexpected(refused(path, why));
  // The name it was given, too: a protected name can be a link to one that is not.
  if (is_protected(inside(path, parts.policy.workspace), parts.policy.protected_names) ||
      is_behind_a_protected_link(parts, host_path, patience)) {
    return unexpected(refused(path, "is, or is reached by, a protected name: programs outside act on what it says"));
  }
  return {};
}

// A new file takes the old one's place: what can't be carried over is a reason to refuse.
Result<void> check_existing(std::string_view path, const Located& existing) {
  const std::string file = descriptor_path(existing.fd.get());
  if (::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0) return unexpected(from_errno(path, "access", errno));
  if (::getxattr(file.c_str(), "system.posix_acl_access", nullptr, 0) >= 0) {
    return unexpected(unfit(path, "has an access list, which would be lost", ENOTSUP, "use tier \"sandbox\" for it"));
  }
  return {};
}

Result<void> take_over(std::string_view path, int fd, const struct stat& old, const WriteOptions& options) {
  struct stat made {};
  if (::fstat(fd, &made) != 0) return unexpected(from_errno(path, "fstat", errno));
  if ((made.st_uid != old.st_uid || made.st_gid != old.st_gid) && ::fchown(fd, old.st_uid, old.st_gid) != 0) {
    return unexpected(unfit(path, "belongs to somebody else, and replacing it would change that", EPERM));
  }
  if (::fchmod(fd, options.mode.value_or(old.st_mode & kPermissionBits)) != 0) {
    return unexpected(from_errno(path, "chmod", errno));
  }
  return {};
}

// EEXIST: another file has come into being where a new one was to be.
Result<void> write_once(const Gateway::Parts& parts, std::string_view path, std::string_view bytes,
                        const WriteOptions& options, const Patience& patience) {
  auto target = find_target(parts, path, options, patience);
  if (!target) return unexpected(target.error());
  if (auto allowed = check_policy(parts, path, *target, patience); !allowed) return allowed;
  if (target->existing) {
    if (!options.replace) return unexpected(unfit(path, "exists already", EEXIST));
    if (auto fit = check_existing(path, *target->existing); !fit) return fit;
  }

  const bool plain_new = !target->existing && !options.mode;
  auto replacement = Replacement::begin(target->folder, plain_new ? kNewFileMode : kPrivateMode, patience);
  if (!replacement) return unexpected(replacement.error());
  if (auto written = replacement->write(bytes, patience); !written) return written;
  if (target->existing) {
    if (auto same = take_over(path, replacement->descriptor(), target->existing->status, options); !same) return same;
    return replacement->commit_over(target->name);
  }
  if (options.mode && ::fchmod(replacement->descriptor(), *options.mode) != 0) {
    return unexpected(from_errno(path, "chmod", errno));
  }
  return replacement->commit_new(target->name);
}

}  // namespace

Result<void> write_file(const Gateway::Parts& parts, std::string_view path, std::string_view bytes,
                        const WriteOptions& options, const Patience& patience) {
  if (auto valid = check_request(parts.policy.limits, path, bytes, options); !valid) return valid;
  for (int i = 1;; ++i) {
    auto written = write_once(parts, path, bytes, options, patience);
    if (written || written.error().error_number != EEXIST || !options.replace || i == kTries) return written;
  }
}

}  // namespace exechost::gateway

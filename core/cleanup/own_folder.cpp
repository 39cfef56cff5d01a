#include "core/cleanup/own_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace exechost::cleanup {
namespace {

constexpr const char* kOwnFolderHint = "remove it, or set XDG_RUNTIME_DIR to a folder of your own";

Failure problem(std::string message, int error_number, std::string step, std::string hint = {}) {
  if (error_number != 0) message += fmt::format(": {}", std::strerror(error_number));
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::provision;
  failure.message = std::move(message);
  failure.hint = std::move(hint);
  failure.error_number = error_number;
  failure.step = std::move(step);
  return failure;
}

// A folder of this user that is no link; made when it isn't there.
Result<UniqueFd> enter_or_make(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
    const int error = errno;
    // A read-only file system says EROFS for what is there.
    if (::faccessat(parent, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
      return unexpected(problem(fmt::format("the folder \"{}\" can't be made", path), error, "mkdir"));
  }
  UniqueFd folder(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0) {
    const int error = errno;
    const bool is_other = error == ENOTDIR || error == ELOOP;
    return unexpected(
        problem(is_other ? fmt::format("\"{}\" is a link or a file, not a folder of user {}", path, ::geteuid())
                         : fmt::format("the folder \"{}\" can't be opened", path),
                is_other ? 0 : error, "open", kOwnFolderHint));
  }
  if (status.st_uid != ::geteuid()) {
    return unexpected(
        problem(fmt::format("the folder \"{}\" belongs to user {}, not to user {}", path, status.st_uid, ::geteuid()),
                0, "owner", kOwnFolderHint));
  }
  return folder;
}

// Makes the folder and the one above it, ExecHost's own. What that lies in is somebody
// else's to make: a login's runtime folder, /run, /tmp.
Result<void> make_folders(const std::string& folder) {
  const std::filesystem::path wanted = std::filesystem::path(folder).lexically_normal();
  const std::filesystem::path own = wanted.parent_path();
  const UniqueFd place(::open(own.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) {
    return unexpected(problem(fmt::format("the folder \"{}\" can't be opened", own.parent_path().string()), errno,
                              "open", "set XDG_RUNTIME_DIR to a folder of your own"));
  }
  const auto above = enter_or_make(place.get(), own.filename().string(), own.string());
  if (!above) return unexpected(above.error());
  const auto made = enter_or_make(above->get(), wanted.filename().string(), wanted.string());
  if (!made) return unexpected(made.error());
  return {};
}

}  // namespace

Result<UniqueFd> make_own_folder(const std::string& folder, const char* what) {
  if (folder.empty() || folder.front() != '/') {
    return unexpected(problem(fmt::format("{} \"{}\" is not an absolute path", what, folder), 0, "path"));
  }
  if (auto made = make_folders(folder); !made) return unexpected(made.error());
  return open_own_folder(folder, what);
}

Result<UniqueFd> open_own_folder(const std::string& folder, const char* what) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return unexpected(problem(fmt::format("{} \"{}\" can't be opened", what, folder), errno, "open"));
  struct stat own {};
  struct stat above {};
  if (::fstat(fd.get(), &own) != 0 || ::fstatat(fd.get(), "..", &above, 0) != 0) {
    return unexpected(problem(fmt::format("{} \"{}\" can't be examined", what, folder), errno, "stat"));
  }
  if (own.st_uid != ::geteuid()) {
    return unexpected(
        problem(fmt::format("{} \"{}\" belongs to user {}, not to user {}", what, folder, own.st_uid, ::geteuid()), 0,
                "owner", kOwnFolderHint));
  }
  if ((own.st_mode & 077U) != 0) {
    return unexpected(
        problem(fmt::format("{} \"{}\" has mode {:04o}; it must be 0700", what, folder, own.st_mode & 07777U), 0,
                "mode", fmt::format("chmod 0700 '{}'", folder)));
  }
  const bool ours = above.st_uid == ::geteuid() || above.st_uid == 0;
  const bool open_to_others = (above.st_mode & 022U) != 0 && (above.st_mode & S_ISVTX) == 0;
  if (!ours || open_to_others) {
    return unexpected(problem(fmt::format("the folder above \"{}\" (user {}, mode {:04o}) lets others replace it",
                                          folder, above.st_uid, above.st_mode & 07777U),
                              0, "parent", "set XDG_RUNTIME_DIR to a folder of your own"));
  }
  return fd;
}

}  // namespace exechost::cleanup

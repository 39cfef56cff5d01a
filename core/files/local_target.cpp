#include "core/files/local_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"
#include "core/files/links.hpp"

namespace exechost::files {
namespace {

constexpr int kTries = 8;
constexpr int kFolder = O_PATH | O_DIRECTORY | O_NOFOLLOW;

}  // namespace

LocalTarget::~LocalTarget() { drop(); }

void LocalTarget::drop() {
  file_.reset();
  if (!temporary_.empty()) ::unlinkat(parent_.get(), temporary_.c_str(), 0);
  temporary_.clear();
  parent_.reset();
}

std::string LocalTarget::beneath(const std::string& path) const { return path.empty() ? name_ : join(name_, path); }

Result<void> LocalTarget::fail(const std::string& path, std::string_view step, int error) const {
  return unexpected(from_errno(path.empty() ? options_.shown : join(options_.shown, path), step, error));
}

Result<void> LocalTarget::begin(const Entry& entry) {
  const std::string place = beneath(entry.path);
  auto parent = open_beneath(folder_, parent_path(place), kFolder);
  if (!parent) return fail(entry.path, "open", parent.error().error_number);
  const std::string name = last_name(place);
  switch (entry.kind) {
    case Kind::folder: return begin_folder(parent->get(), name, entry);
    case Kind::link: return make_link(parent->get(), name, entry);
    case Kind::file: break;
  }
  return begin_file(std::move(*parent), name, entry);
}

Result<void> LocalTarget::begin_folder(int parent, const std::string& name, const Entry& entry) {
  const mode_t mode = (entry.mode & 0777U) | S_IRWXU;
  if (::mkdirat(parent, name.c_str(), mode) != 0) {
    const int error = errno;
    struct stat status {};
    const bool is_folder = error == EEXIST && ::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                           S_ISDIR(status.st_mode);
    return is_folder ? Result<void>{} : fail(entry.path, "mkdir", error);  // one that was there stays as it is
  }
  if (options_.exact_modes || mode != (entry.mode & 0777U)) {
    closed_folders_.emplace_back(beneath(entry.path), entry.mode & 0777U);
  }
  return {};
}

Result<void> LocalTarget::make_link(int parent, const std::string& name, const Entry& entry) {
  const bool kept = !entry.path.empty() &&
                    (options_.links == LinkRule::keep ||
                     (options_.links == LinkRule::keep_inside && stays_inside(depth_of(entry.path) - 1, entry.target)));
  if (!kept) {
    if (options_.on_skip) options_.on_skip(entry.path, "link");
    return {};
  }
  for (int i = 0; i < kTries; ++i) {
    const std::string temporary = temporary_name();
    if (::symlinkat(entry.target.c_str(), parent, temporary.c_str()) != 0) {
      if (errno == EEXIST) continue;
      return fail(entry.path, "symlink", errno);
    }
    if (::renameat(parent, temporary.c_str(), parent, name.c_str()) == 0) return {};
    const int error = errno;
    ::unlinkat(parent, temporary.c_str(), 0);
    return fail(entry.path, "rename", error);
  }
  return fail(entry.path, "symlink", EEXIST);
}

Result<void> LocalTarget::begin_file(UniqueFd parent, std::string name, const Entry& entry) {
  drop();
  struct stat status {};
  if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode)) {
    return fail(entry.path, "replace", EISDIR);  // known before the content has come
  }
  for (int i = 0;; ++i) {
    const std::string temporary = temporary_name();
    auto fd = open_beneath(parent.get(), temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, entry.mode & 0777U);
    if (fd) {
      file_ = std::move(*fd);
      temporary_ = temporary;
      break;
    }
    if (fd.error().error_number != EEXIST || i == kTries) return fail(entry.path, "create", fd.error().error_number);
  }
  parent_ = std::move(parent);
  final_name_ = std::move(name);
  entry_ = entry;
  return {};
}

Result<void> LocalTarget::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      drop();
      return fail(entry_.path, "write", error);
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> LocalTarget::end() {
  if (options_.exact_modes && ::fchmod(file_.get(), entry_.mode & 0777U) != 0) {
    const int error = errno;
    drop();
    return fail(entry_.path, "chmod", error);
  }
  if (options_.keep_times) {
    const timespec times[2] = {{0, UTIME_NOW}, entry_.status.st_mtim};
    if (::futimens(file_.get(), times) != 0) {
      const int error = errno;
      drop();
      return fail(entry_.path, "time", error);
    }
  }
  // Some file systems say only now that there was no room.
  if (::close(file_.release()) != 0) {
    const int error = errno;
    drop();
    return fail(entry_.path, "write", error);
  }
  if (::renameat(parent_.get(), temporary_.c_str(), parent_.get(), final_name_.c_str()) != 0) {
    const int error = errno;
    drop();
    return fail(entry_.path, "rename", error);
  }
  temporary_.clear();
  parent_.reset();
  return {};
}

Result<void> LocalTarget::finish() {
  // The deepest first: who may not enter a folder any more could not change what is in it.
  while (!closed_folders_.empty()) {
    const auto [path, mode] = std::move(closed_folders_.back());
    closed_folders_.pop_back();
    const auto folder = open_beneath(folder_, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!folder) return fail(path, "chmod", folder.error().error_number);
    struct stat status {};
    if (::fstat(folder->get(), &status) != 0) return fail(path, "chmod", errno);
    // What the umask took away when it was made stays away.
    const mode_t wanted = options_.exact_modes ? mode : mode & status.st_mode;
    if (::fchmod(folder->get(), wanted) != 0) return fail(path, "chmod", errno);
  }
  return {};
}

}  // namespace exechost::files

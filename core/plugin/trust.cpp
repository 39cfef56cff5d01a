#include "core/plugin/trust.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <deque>
#include <optional>
#include <system_error>
#include <vector>

#include "core/plugin/failures.hpp"

namespace exechost::plugin {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's own limit (path_resolution(7))
constexpr std::size_t kMaxComponents = 4096;

std::string error_text(int number) { return std::generic_category().message(number); }

// Which rule `status` breaks; nothing when none.
std::optional<std::string> broken_rule(const struct stat& status) {
  const uid_t self = ::geteuid();
  if (status.st_uid != 0 && status.st_uid != self) {
    return fmt::format("belongs to user {}, not to root or to user {}", status.st_uid, self);
  }
  // A link's own mode bits mean nothing.
  if (S_ISLNK(status.st_mode)) return std::nullopt;
  // ACL entries that grant writing show in the group bits, which then are the ACL's mask (acl(5)).
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("is writable by others (mode {:04o})", status.st_mode & 07777U);
  }
  return std::nullopt;
}

constexpr std::string_view kOwnerHint = "`chown root` (or yourself) and `chmod go-w` it, or move the plugin";

std::string read_link(int fd, int& error) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlinkat(fd, "", target.data(), target.size());
  if (length < 0) {
    error = errno;
    return {};
  }
  return {target.data(), static_cast<std::size_t>(length)};
}

// Walks from / with one descriptor per folder, so that nothing that is renamed meanwhile can lead
// to something that was not checked.
class Walk {
 public:
  explicit Walk(const std::string& path) : path_(path) {}

  Result<TrustedFile> run() {
    if (path_.empty() || path_[0] != '/') return fail(path_, "is not an absolute path");
    if (path_.find('\0') != std::string::npos) return fail(path_, "holds a NUL byte");
    if (path_.back() == '/') return fail(path_, "is not a file");
    if (auto entered = enter_root(); !entered) return unexpected(entered.error());
    queue(path_);
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.front());
      pending_.pop_front();
      if (name == ".") continue;
      if (name == "..") {
        if (folders_.size() > 1) folders_.pop_back();
        continue;
      }
      if (pending_.empty()) return open_file(name);
      if (auto stepped = step(name); !stepped) return unexpected(stepped.error());
    }
    return fail(path_, "is not a file");
  }

 private:
  struct Folder {
    UniqueFd fd;
    std::string path;
  };

  tl::unexpected<Failure> fail(const std::string& where, const std::string& rule, std::string hint = {},
                               int error_number = 0) const {
    const std::string shown = where == path_ ? rule : rule + " (on the way to \"" + path_ + "\")";
    return tl::unexpected<Failure>(refused(where, shown, std::move(hint), error_number));
  }

  std::string below(const std::string& name) const {
    const std::string& folder = folders_.back().path;
    return folder == "/" ? "/" + name : folder + "/" + name;
  }

  void queue(const std::string& path) {
    std::deque<std::string> names;
    std::size_t begin = 0;
    while (begin < path.size()) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      if (end > begin) names.push_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    pending_.insert(pending_.begin(), names.begin(), names.end());
  }

  Result<void> enter_root() {
    folders_.clear();
    return enter(UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), "/", errno);
  }

  Result<void> enter(UniqueFd fd, const std::string& path, int open_error) {
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
      const int error = fd ? errno : open_error;
      return fail(path, "can't be opened: " + error_text(error), {}, error);
    }
    if (const auto rule = broken_rule(status)) return fail(path, *rule, std::string(kOwnerHint));
    folders_.push_back({std::move(fd), path});
    return {};
  }

  // One component that is not the last: a folder, or a link to one.
  Result<void> step(const std::string& name) {
    if (pending_.size() > kMaxComponents) return fail(path_, "has too many components");
    const std::string path = below(name);
    UniqueFd fd(::openat(folders_.back().fd.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const int open_error = errno;
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
      const int error = fd ? errno : open_error;
      return fail(path, "can't be opened: " + error_text(error), {}, error);
    }
    if (S_ISDIR(status.st_mode)) return enter(std::move(fd), path, 0);
    if (!S_ISLNK(status.st_mode)) return fail(path, "is not a folder", {}, ENOTDIR);
    if (const auto rule = broken_rule(status)) return fail(path, *rule, std::string(kOwnerHint));
    if (++links_ > kMaxLinks) return fail(path, fmt::format("is one of more than {} links", kMaxLinks), {}, ELOOP);
    int error = 0;
    const std::string target = read_link(fd.get(), error);
    if (target.empty()) return fail(path, "can't be read as a link: " + error_text(error), {}, error);
    if (target.size() >= PATH_MAX) return fail(path, "is a link with too long a target", {}, ENAMETOOLONG);
    if (target[0] == '/') {
      if (auto entered = enter_root(); !entered) return entered;
    }
    queue(target);
    return {};
  }

  Result<TrustedFile> open_file(const std::string& name) {
    const std::string path = below(name);
    const int folder = folders_.back().fd.get();
    UniqueFd seen(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const int open_error = errno;
    struct stat status {};
    if (!seen || ::fstat(seen.get(), &status) != 0) {
      const int error = seen ? errno : open_error;
      return fail(path, "can't be opened: " + error_text(error), {}, error);
    }
    if (S_ISLNK(status.st_mode)) return fail(path, "is a symbolic link", "name the file it points to", ELOOP);
    // Checked before it is opened: opening a device or a pipe can have effects or block.
    if (!S_ISREG(status.st_mode)) return fail(path, "is not a regular file");
    if (const auto rule = broken_rule(status)) return fail(path, *rule, std::string(kOwnerHint));
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) return fail(path, "has a set-user-id or set-group-id bit");

    TrustedFile file;
    file.fd.reset(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    const int error = errno;
    if (!file.fd) return fail(path, "can't be read: " + error_text(error), {}, error);
    struct stat opened {};
    if (::fstat(file.fd.get(), &opened) != 0 || opened.st_dev != status.st_dev || opened.st_ino != status.st_ino) {
      return fail(path, "was replaced while it was checked", "try again");
    }
    file.device = opened.st_dev;
    file.inode = opened.st_ino;
    return file;
  }

  const std::string& path_;
  std::vector<Folder> folders_;  // from / down to where the walk is
  std::deque<std::string> pending_;
  int links_ = 0;
};

}  // namespace

Result<TrustedFile> open_trusted(const std::string& path) { return Walk(path).run(); }

}  // namespace exechost::plugin

#include "core/workspace/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"

namespace exechost::workspace {
namespace {

// One descriptor for each level; what is deeper is moved up and gets its turn there.
constexpr std::size_t kMostOpen = 32;

class Remover {
 public:
  explicit Remover(int top) : top_(top) {}

  Result<void> remove(int folder, const std::string& name, std::size_t depth) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return unexpected(files::from_errno(name, "remove", errno));
    auto inside = open_folder(folder, name);
    if (!inside) return unexpected(inside.error());
    auto names = names_in(inside->get());
    if (!names) return unexpected(names.error());
    for (const std::string& entry : *names) {
      if (auto removed = depth < kMostOpen ? remove(inside->get(), entry, depth + 1) : lift(inside->get(), entry);
          !removed)
        return removed;
    }
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0)
      return unexpected(files::from_errno(name, "remove", errno));
    return {};
  }

  // What was moved up.
  Result<void> remove_lifted() {
    while (!lifted_.empty()) {
      const std::string name = std::move(lifted_.back());
      lifted_.pop_back();
      if (auto removed = remove(top_, name, 0); !removed) return removed;
    }
    return {};
  }

 private:
  static Result<UniqueFd> open_folder(int folder, const std::string& name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(::openat(folder, name.c_str(), kFlags));
    if (fd) {
      (void)::fchmod(fd.get(), S_IRWXU);  // its entries could not be removed else
      return fd;
    }
    const int error = errno;
    if (error != EACCES) return unexpected(files::from_errno(name, "remove", error));
    // A folder of our own that was shut. fchmodat follows links; this name is a folder, in a tree nobody else changes.
    if (::fchmodat(folder, name.c_str(), S_IRWXU, 0) == 0) fd.reset(::openat(folder, name.c_str(), kFlags));
    if (!fd) return unexpected(files::from_errno(name, "remove", errno));
    return fd;
  }

  static Result<std::vector<std::string>> names_in(int folder) {
    const int listed = ::fcntl(folder, F_DUPFD_CLOEXEC, 3);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(listed < 0 ? nullptr : ::fdopendir(listed), &::closedir);
    if (!stream) {
      const int error = errno;
      if (listed >= 0) ::close(listed);
      return unexpected(files::from_errno("", "remove", error));
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name(static_cast<const char*>(entry->d_name));
      if (name != "." && name != "..") names.push_back(name);
    }
    return names;
  }

  Result<void> lift(int folder, const std::string& name) {
    if (::unlinkat(folder, name.c_str(), 0) == 0) return {};
    const std::string lifted = files::temporary_name();
    if (::renameat(folder, name.c_str(), top_, lifted.c_str()) != 0) {
      return unexpected(files::from_errno(name, "remove", errno));
    }
    lifted_.push_back(lifted);
    return {};
  }

  int top_;
  std::vector<std::string> lifted_;
};

}  // namespace

Result<void> remove_tree(int folder, const std::string& name) {
  Remover remover(folder);
  if (auto removed = remover.remove(folder, name, 0); !removed) return removed;
  return remover.remove_lifted();
}

}  // namespace exechost::workspace

#include "cli/plugin_project/new_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/unique_fd.hpp"

namespace exechost::cli {
namespace {

constexpr const char* kAnotherFolder = "name a folder that is not there yet: exechost plugin new NAME DIR";

Failure failed(const std::string& path, int error_number, std::string_view what, std::string hint) {
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.step = "new folder";
  failure.error_number = error_number;
  failure.message = fmt::format("{}: {}", path, what);
  if (error_number != 0) failure.message += ": " + std::generic_category().message(error_number);
  failure.hint = std::move(hint);
  return failure;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// By descriptor: what is looked at is what is written to.
Result<void> check_empty(int folder, const std::string& path) {
  UniqueFd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseFolder> entries(again ? ::fdopendir(again.get()) : nullptr);
  if (!entries) return unexpected(failed(path, errno, "can't be listed", kAnotherFolder));
  again.release();  // closedir closes it
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..")
      return unexpected(failed(path, 0, "is there already and not empty", kAnotherFolder));
  }
  return {};
}

// Takes back what was made unless it is kept.
class Attempt {
 public:
  explicit Attempt(std::string path) : path_(std::move(path)) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    if (kept_) return;
    for (const std::string& name : files_) ::unlinkat(folder_.get(), name.c_str(), 0);
    if (made_) ::rmdir(path_.c_str());
  }

  Result<void> open() {
    made_ = ::mkdir(path_.c_str(), 0755) == 0;
    if (!made_ && errno == ENOENT)
      return unexpected(failed(path_, errno, "can't be made", "make the folder above it first"));
    if (!made_ && errno != EEXIST)
      return unexpected(failed(path_, errno, "can't be made", "name a folder in a place that you may write"));
    folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder_ && (errno == ELOOP || errno == ENOTDIR))
      return unexpected(failed(path_, 0, "is no folder, or a link to one", kAnotherFolder));
    if (!folder_) return unexpected(failed(path_, errno, "can't be opened", kAnotherFolder));
    return check_empty(folder_.get(), path_);
  }

  Result<void> write(const ProjectFile& file) {
    const std::string path = fmt::format("{}/{}", path_, file.name);
    const UniqueFd fd(
        ::openat(folder_.get(), file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd)
      return unexpected(
          failed(path, errno, "can't be made", "nothing was overwritten; look what is there and try again"));
    files_.push_back(file.name);
    for (std::string_view rest = file.text; !rest.empty();) {
      const ssize_t count = ::write(fd.get(), rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return unexpected(failed(path, errno, "can't be written", "make room, or name another folder"));
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

  void keep() { kept_ = true; }

 private:
  std::string path_;
  UniqueFd folder_;
  std::vector<std::string> files_;
  bool made_ = false;
  bool kept_ = false;
};

// With a slash at its end a link would be followed whatever is asked.
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Result<void> make_folder(const std::string& folder, const std::vector<ProjectFile>& files) {
  Attempt attempt(without_slashes(folder));
  if (auto opened = attempt.open(); !opened) return opened;
  for (const ProjectFile& file : files) {
    if (auto written = attempt.write(file); !written) return written;
  }
  attempt.keep();
  return {};
}

}  // namespace exechost::cli

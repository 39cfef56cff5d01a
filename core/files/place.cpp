#include "core/files/place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <utility>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"
#include "core/plan/paths.hpp"
#include "guest/files/tar.hpp"

namespace exechost::files {
namespace {

constexpr int kMostLinks = 40;  // the kernel's own
constexpr int kOnTheWay = O_PATH | O_NOFOLLOW | O_CLOEXEC;

std::string name_of(int fd) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), buffer.data(), buffer.size());
  return length <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(length));
}

void push_components(std::deque<std::string>& components, std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    if (slash > start) parts.emplace_back(path.substr(start, slash - start));
    start = slash + 1;
  }
  // A slash at the end: the folder, through a link if need be.
  if (!path.empty() && path.back() == '/') parts.emplace_back(".");
  components.insert(components.begin(), parts.begin(), parts.end());
}

class Finder {
 public:
  Finder(std::string_view path, const PlaceRules& rules) : given_(path), rules_(rules) {}

  Result<Place> find() {
    if (given_.empty() || given_.find('\0') != std::string::npos) {
      return unexpected(unfit(given_, "is no path", EINVAL));
    }
    if (auto root = from_root(); !root) return unexpected(root.error());
    // A link in what was given first is the last component's, too: it is not followed here.
    push_components(components_, given_);
    if (given_.front() != '/') push_components(components_, rules_.base);
    while (!components_.empty()) {
      std::string name = std::move(components_.front());
      components_.pop_front();
      if (name == ".") continue;
      if (components_.empty() && name != "..") return finish(std::move(name));
      if (auto entered = enter(name); !entered) return unexpected(entered.error());
    }
    return finish({});
  }

 private:
  Result<void> from_root() {
    folder_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder_) return unexpected(from_errno("/", "open", errno));
    return {};
  }

  bool commands_write_here() const {
    const std::string name = name_of(folder_.get());
    // Not a place in this process's tree (or not known): then nothing vouches for it.
    if (name.empty() || name.front() != '/') return true;
    return std::any_of(rules_.writable_inside.begin(), rules_.writable_inside.end(),
                       [&name](const std::string& root) { return plan::is_at_or_below(name, root); });
  }

  Result<void> enter(const std::string& name) {
    UniqueFd next(::openat(folder_.get(), name.c_str(), kOnTheWay));
    struct stat status {};
    if (!next || ::fstat(next.get(), &status) != 0) return unexpected(from_errno(given_, "open", errno));
    if (!S_ISLNK(status.st_mode)) {
      if (!S_ISDIR(status.st_mode)) return unexpected(from_errno(given_, "open", ENOTDIR));
      folder_ = std::move(next);
      return {};
    }
    if (commands_write_here()) {
      return unexpected(
          refused(given_,
                  fmt::format("leads over the link {}, which lies where commands may write: one could have laid it",
                              shown(name)),
                  "name the place that it leads to"));
    }
    if (++links_ > kMostLinks) return unexpected(from_errno(given_, "open", ELOOP));
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(folder_.get(), name.c_str(), target.data(), target.size());
    if (length <= 0) return unexpected(from_errno(given_, "open", length < 0 ? errno : ENOENT));
    const std::string_view leads_to(target.data(), static_cast<std::size_t>(length));
    push_components(components_, leads_to);
    return leads_to.front() == '/' ? from_root() : Result<void>{};
  }

  Result<Place> finish(std::string name) {
    Place place;
    place.planted = commands_write_here();
    place.folder = std::move(folder_);
    place.name = std::move(name);
    place.shown = given_;
    return place;
  }

  std::string given_;
  const PlaceRules& rules_;
  std::deque<std::string> components_;
  UniqueFd folder_;
  int links_ = 0;
};

}  // namespace

Result<Place> find_place(std::string_view path, const PlaceRules& rules) { return Finder(path, rules).find(); }

Result<std::string> name_for_copy(std::string_view path) {
  std::string_view rest = path;
  while (rest.size() > 1 && rest.back() == '/') rest.remove_suffix(1);
  const std::string name(rest.substr(rest.rfind('/') + 1));
  if (!guest::tar::is_component(name.data(), name.size())) {
    return unexpected(
        unfit(path, "has no name of its own", EINVAL, "name the folder itself, such as ../project in place of ."));
  }
  return name;
}

Result<Target> find_target(std::string_view path, const std::string& source_name, const PlaceRules& rules) {
  auto place = find_place(path, rules);
  if (!place) return unexpected(place.error());
  Target target;
  target.shown = std::string(path);
  if (place->name.empty()) {
    target.folder = std::move(place->folder);
    target.name = source_name;
    target.shown = join(target.shown == "/" ? "" : target.shown, source_name);
    return target;
  }
  struct stat status {};
  const bool there = ::fstatat(place->folder.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there && errno != ENOENT) return unexpected(from_errno(path, "stat", errno));
  if (there && S_ISLNK(status.st_mode) && !place->planted) {
    struct stat behind {};
    // The caller's own link to a folder is as good as the folder.
    if (::fstatat(place->folder.get(), place->name.c_str(), &behind, 0) == 0 && S_ISDIR(behind.st_mode)) {
      return find_target(std::string(path) + "/", source_name, rules);
    }
  }
  if (there && S_ISDIR(status.st_mode)) {
    auto folder = open_beneath(place->folder.get(), place->name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (!folder) return unexpected(from_errno(path, "open", folder.error().error_number));
    target.folder = std::move(*folder);
    target.name = source_name;
    target.shown = join(target.shown, source_name);
    return target;
  }
  target.folder = std::move(place->folder);
  target.name = std::move(place->name);
  return target;
}

}  // namespace exechost::files

#include "core/plan/system_folders.hpp"

#include <algorithm>
#include <array>

#include "core/plan/paths.hpp"

namespace exechost::plan {
namespace {

constexpr std::array<std::string_view, 10> kTrees{"/usr",    "/bin",   "/sbin", "/lib",  "/lib32",
                                                  "/libx32", "/lib64", "/etc",  "/boot", "/sys"};
// More whose every part is read by services, many of them as root.
constexpr std::array<std::string_view, 9> kServices{
    "/proc",          "/dev", "/run", "/var/spool", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/apt", "/var/lib/systemd",
    "/var/lib/pacman"};
// Parts of these that users have their own things in.
constexpr std::array<std::string_view, 3> kUsers{"/dev/shm", "/run/user", "/run/media"};
// Each folder in them belongs to a service; deeper there may be a project (a build server's).
constexpr std::array<std::string_view, 3> kShared{"/var/lib", "/var/cache", "/var/log"};

template <std::size_t N>
bool is_in(std::string_view path, const std::array<std::string_view, N>& folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](std::string_view folder) { return is_at_or_below(path, folder); });
}

}  // namespace

bool is_in_system_tree(std::string_view path) { return is_in(path, kTrees); }

bool is_kept_by_system(std::string_view path) {
  const bool of_users =
      std::any_of(kUsers.begin(), kUsers.end(), [&](std::string_view folder) { return is_below(path, folder); });
  if (of_users) return false;
  if (is_in_system_tree(path) || is_in(path, kServices)) return true;
  return std::any_of(kShared.begin(), kShared.end(),
                     [&](std::string_view folder) { return path == folder || parent_of(path) == folder; });
}

}  // namespace exechost::plan

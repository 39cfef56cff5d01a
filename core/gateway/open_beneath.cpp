#include "core/gateway/open_beneath.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "core/gateway/failures.hpp"
#include "core/gateway/patience.hpp"

namespace exechost::gateway {
namespace {

// Under constant renames one try in a few is disturbed; this many in a row are not chance.
constexpr int kTries = 256;

int openat2(int folder, const char* path, int flags, mode_t mode, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.mode = mode;
  how.resolve = resolve;
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

}  // namespace

Result<UniqueFd> open_beneath(const BeneathRequest& request, const Patience& patience) {
  std::uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  if (!request.links) resolve |= RESOLVE_NO_SYMLINKS;
  int error = EAGAIN;
  for (int i = 0; i < kTries && (error == EAGAIN || error == EINTR); ++i) {
    if (auto wanted = still_wanted(patience); !wanted) return unexpected(wanted.error());
    const int fd = openat2(request.folder, request.relative.c_str(), request.flags, request.mode, resolve);
    if (fd >= 0) return UniqueFd(fd);
    error = errno;
  }
  return unexpected(from_errno(request.shown, request.step, error));
}

Result<UniqueFd> open_without_links(const std::string& path, int flags) {
  const int fd = openat2(AT_FDCWD, path.c_str(), flags, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
  if (fd < 0) return unexpected(from_errno(path, "open", errno));
  return UniqueFd(fd);
}

std::string descriptor_path(int fd) { return fmt::format("/proc/thread-self/fd/{}", fd); }

Result<std::string> name_of_descriptor(int fd, std::string_view shown) {
  std::array<char, PATH_MAX + 1> buffer{};
  const ssize_t length = ::readlink(descriptor_path(fd).c_str(), buffer.data(), buffer.size());
  if (length < 0) return unexpected(from_errno(shown, "readlink", errno));
  std::string name(buffer.data(), static_cast<std::size_t>(length));
  // "(unreachable)/…" and the like: not a place in this process's tree.
  if (name.empty() || name.front() != '/') return unexpected(refused(shown, "is not reachable by a path"));
  return name;
}

}  // namespace exechost::gateway

#include "core/files/beneath.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/files/failures.hpp"

namespace exechost::files {
namespace {

// A rename anywhere can make the kernel ask for another try; this many in a row are not chance.
constexpr int kTries = 256;

}  // namespace

Result<UniqueFd> open_beneath(int folder, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int error = EAGAIN;
  for (int i = 0; i < kTries && (error == EAGAIN || error == EINTR); ++i) {
    const auto fd = ::syscall(SYS_openat2, folder, path.empty() ? "." : path.c_str(), &how, sizeof how);
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    error = errno;
  }
  return unexpected(from_errno(path, "open", error));
}

std::string parent_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string join(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : fmt::format("{}/{}", folder, name);
}

std::size_t depth_of(const std::string& path) {
  return path.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

std::string temporary_name() {
  std::array<unsigned char, 12> bytes{};
  // Never short for so few bytes; were it, the name would only be easier to collide with (EEXIST).
  (void)!::getrandom(bytes.data(), bytes.size(), 0);
  std::string name = ".exechost-";
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

}  // namespace exechost::files

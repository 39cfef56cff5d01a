#include "core/plugin/sealed_copy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/plugin/digest.hpp"
#include "core/plugin/failures.hpp"

namespace exechost::plugin {
namespace {

tl::unexpected<Failure> copy_failed(const std::string& path, int error) {
  return tl::unexpected<Failure>(refused(path, "can't be copied: " + std::generic_category().message(error),
                                         "a pinned plugin is loaded from a sealed memory file", error));
}

}  // namespace

Result<UniqueFd> sealed_copy(int fd, const std::string& path) {
  UniqueFd copy(::memfd_create("exechost-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy) return copy_failed(path, errno);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return copy_failed(path, errno);
  if (static_cast<unsigned long long>(status.st_size) > kMaxLibraryBytes) {
    return unexpected(refused(path, fmt::format("is larger than {} bytes", kMaxLibraryBytes)));
  }
  off_t offset = 0;
  while (offset < status.st_size) {
    const ssize_t count =
        ::copy_file_range(fd, &offset, copy.get(), nullptr, static_cast<std::size_t>(status.st_size - offset), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
  }
  // Not every pair of file systems can do it inside the kernel.
  while (offset < status.st_size) {
    char buffer[65536];
    const ssize_t count = ::pread(fd, buffer, sizeof buffer, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return copy_failed(path, count == 0 ? EIO : errno);
    if (::pwrite(copy.get(), buffer, static_cast<std::size_t>(count), offset) != count) return copy_failed(path, errno);
    offset += count;
  }
  if (::fcntl(copy.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return copy_failed(path, errno);
  }
  return copy;
}

}  // namespace exechost::plugin

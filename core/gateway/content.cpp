#include "core/gateway/content.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/gateway/failures.hpp"
#include "core/gateway/patience.hpp"

namespace exechost::gateway {

Failure too_big(std::string_view path, std::uint64_t limit) {
  return unfit(path, fmt::format("is more than the {} bytes that the gateway reads of one file", limit), EFBIG,
               "use tier \"sandbox\" for big files");
}

Result<Content> Content::open(const Located& file, std::uint64_t most_bytes, const Patience& patience) {
  auto fd = open_contents(file);
  if (!fd) return unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return unexpected(from_errno(file.shown, "fstat", errno));
  return Content(std::move(*fd), static_cast<std::uint64_t>(status.st_size), most_bytes, patience, file.shown);
}

bool Content::has_hole_behind(std::uint64_t offset) const {
  if (offset >= size_) return false;
  const off_t hole = ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_HOLE);
  return hole >= 0 && static_cast<std::uint64_t>(hole) < size_;
}

Result<std::size_t> Content::read_at(std::uint64_t offset, std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    if (auto wanted = still_wanted(patience_); !wanted) return unexpected(wanted.error());
    const std::size_t piece = std::min(buffer.size() - filled, kPieceBytes);
    const ssize_t count = ::pread(fd_.get(), buffer.data() + filled, piece, static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unexpected(from_errno(shown_, "read", errno));
    if (count == 0) break;
    if (static_cast<std::uint64_t>(count) > left_) return unexpected(too_big(shown_, most_));
    left_ -= static_cast<std::uint64_t>(count);
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

}  // namespace exechost::gateway

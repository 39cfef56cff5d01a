#include "core/gateway/replacement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/gateway/failures.hpp"
#include "core/gateway/open_beneath.hpp"
#include "core/gateway/patience.hpp"

namespace exechost::gateway {
namespace {

constexpr std::size_t kWriteBytes = 1024UL * 1024;
constexpr int kTries = 8;

std::string random_name() {
  std::array<unsigned char, 12> bytes{};
  // Never short for so few bytes; were it, the name would only be easier to collide with (EEXIST).
  (void)!::getrandom(bytes.data(), bytes.size(), 0);
  std::string name = ".exechost-";
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

BeneathRequest creation_in(const Located& folder, mode_t mode) {
  BeneathRequest request;
  request.folder = folder.fd.get();
  request.mode = mode;
  request.links = false;
  request.shown = folder.shown;
  request.step = "create";
  return request;
}

}  // namespace

Replacement::Replacement(Replacement&& other) noexcept
    : folder_(other.folder_), fd_(std::move(other.fd_)), temporary_(std::exchange(other.temporary_, {})) {}

Replacement::~Replacement() {
  if (!temporary_.empty()) ::unlinkat(folder_->fd.get(), temporary_.c_str(), 0);
}

Result<Replacement> Replacement::begin(const Located& folder, mode_t mode, const Patience& patience) {
  BeneathRequest request = creation_in(folder, mode);
  request.relative = ".";
  request.flags = O_TMPFILE | O_WRONLY;
  auto fd = open_beneath(request, patience);
  if (!fd) {
    const int error = fd.error().error_number;
    const bool no_such_files = error == EOPNOTSUPP || error == EISDIR || error == EINVAL;
    return no_such_files ? begin_named(folder, mode, patience) : Result<Replacement>(unexpected(fd.error()));
  }
  Replacement made(folder);
  made.fd_ = std::move(*fd);
  return made;
}

Result<Replacement> Replacement::begin_named(const Located& folder, mode_t mode, const Patience& patience) {
  BeneathRequest request = creation_in(folder, mode);
  request.flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_NONBLOCK | O_NOCTTY;
  for (int i = 0;; ++i) {
    request.relative = random_name();
    auto fd = open_beneath(request, patience);
    if (fd) {
      Replacement made(folder);
      made.temporary_ = request.relative;
      made.fd_ = std::move(*fd);
      return made;
    }
    if (fd.error().error_number != EEXIST || i == kTries) return unexpected(fd.error());
  }
}

Result<void> Replacement::write(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    if (auto wanted = still_wanted(patience); !wanted) return wanted;
    const ssize_t count = ::write(fd_.get(), bytes.data(), std::min(bytes.size(), kWriteBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unexpected(from_errno(folder_->shown, "write", errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> Replacement::commit_new(const std::string& name) {
  const int folder = folder_->fd.get();
  const int done = temporary_.empty()
                       ? ::linkat(AT_FDCWD, descriptor_path(fd_.get()).c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW)
                       : ::renameat2(folder, temporary_.c_str(), folder, name.c_str(), RENAME_NOREPLACE);
  if (done != 0) return unexpected(from_errno(name, "create", errno));
  temporary_.clear();
  return {};
}

Result<void> Replacement::commit_over(const std::string& name) {
  for (int i = 0; i < kTries && temporary_.empty(); ++i) {
    // A file without a name can only be linked where there is none: it gets one for a moment.
    const std::string candidate = random_name();
    if (auto linked = commit_new(candidate); linked) {
      temporary_ = candidate;
    } else if (linked.error().error_number != EEXIST) {
      return linked;
    }
  }
  const int folder = folder_->fd.get();
  if (::renameat(folder, temporary_.c_str(), folder, name.c_str()) != 0) {
    return unexpected(from_errno(name, "replace", errno));
  }
  temporary_.clear();
  return {};
}

}  // namespace exechost::gateway

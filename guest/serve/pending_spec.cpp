#include "guest/serve/pending_spec.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "guest/spec.hpp"

namespace exechost::guest {

bool PendingSpec::begin(std::uint32_t execution, const Run& run) {
  if (run.spec_bytes == 0 || run.spec_bytes > kMaxSpecBytes || run.terminal > 1) return false;
  execution_ = execution;
  run_ = run;
  left_ = run.spec_bytes;
  fd_ = ::memfd_create("exechost-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  error_ = fd_ < 0 ? errno : 0;
  return true;
}

bool PendingSpec::add(std::uint32_t execution, const char* bytes, std::uint32_t size) {
  if (left_ == 0 || execution != execution_ || size > left_) return false;
  left_ -= size;
  while (error_ == 0 && size != 0) {
    const ssize_t written = ::write(fd_, bytes, size);
    if (written < 0 && errno != EINTR) error_ = errno;
    if (written <= 0) continue;
    bytes += written;
    size -= static_cast<std::uint32_t>(written);
  }
  return true;
}

int PendingSpec::take(int& error) {
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (error_ == 0 && ::fcntl(fd_, F_ADD_SEALS, kSeals) != 0) error_ = errno;
  error = error_;
  if (error_ != 0 && fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
  return std::exchange(fd_, -1);
}

}  // namespace exechost::guest

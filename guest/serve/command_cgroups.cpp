#include "guest/serve/command_cgroups.hpp"

#include <cstring>

#include "guest/exec/cgroup.hpp"

namespace exechost::guest {

bool CommandCgroups::fits() const { return prefix_ == nullptr || std::strlen(prefix_) + kDigits < sizeof path_; }

const char* CommandCgroups::path_of(std::int32_t number) {
  if (prefix_ == nullptr || number <= 0) return nullptr;
  char* at = path_ + sizeof path_ - 1;
  *at = 0;
  for (std::int32_t left = number; left != 0; left /= 10) *--at = static_cast<char>('0' + left % 10);
  *--at = '-';
  const std::size_t length = std::strlen(prefix_);
  at -= length;
  std::memcpy(at, prefix_, length);
  return at;
}

bool CommandCgroups::end(std::int32_t number) {
  Cgroup cgroup(path_of(number));
  if (cgroup.find().ok()) cgroup.kill();
  const bool gone = cgroup.try_to_remove();
  cgroup.let_go();
  return gone;
}

}  // namespace exechost::guest

// The ledger's files of a scene, looked at from outside.
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "tests/support/scene.hpp"

namespace exechost::test {

inline std::vector<std::string> ledger_entries(const Scene& scene) {
  std::vector<std::string> found;
  const std::string folder = scene.runtime_folder() + "/exechost/ledger";
  if (!exists(folder)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path().string());
  return found;
}

// Somebody holds a lock on it.
inline bool is_held(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return false;  // removed in the meantime, by whoever held it
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

inline std::vector<std::string> held_entries(const Scene& scene) {
  std::vector<std::string> held;
  for (const std::string& path : ledger_entries(scene)) {
    if (is_held(path)) held.push_back(path);
  }
  return held;
}

}  // namespace exechost::test

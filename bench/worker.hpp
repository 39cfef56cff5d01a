// A subject in a process of its own that holds a lot of memory: what a fork there would cost.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

#include "core/base/unique_fd.hpp"

namespace exechost::bench {

class Worker {
 public:
  // Starts this program once more, as `--worker SUBJECT --ballast-mib N`. Throws std::system_error.
  Worker(const std::string& subject, std::size_t ballast_mib);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  double once() const;  // in there; throws std::runtime_error when it failed

 private:
  UniqueFd socket_;
  pid_t pid_ = -1;
};

// The other side: touches the memory, then does it once for each byte that comes on standard input.
int serve_worker(const std::function<double()>& once, std::size_t ballast_mib);

}  // namespace exechost::bench

// A specification that comes in pieces: into a memfd, so that no length that comes in takes any memory by itself.
#pragma once

#include <cstdint>

#include "guest/serve/frames.hpp"

namespace exechost::guest {

class PendingSpec {
 public:
  bool is_open() const { return left_ != 0; }
  std::uint32_t execution() const { return execution_; }  // 0: the guest's own
  const Run& run() const { return run_; }

  // False: no specification can be that long.
  bool begin(std::uint32_t execution, const Run& run);
  // False: it is not this one's, or more than was announced.
  bool add(std::uint32_t execution, const char* bytes, std::uint32_t size);
  // When it is complete: the sealed memfd, the caller's; -1 with an errno when there is none.
  int take(int& error);

 private:
  std::uint32_t execution_ = 0;
  std::uint32_t left_ = 0;
  int fd_ = -1;
  int error_ = 0;
  Run run_;
};

}  // namespace exechost::guest

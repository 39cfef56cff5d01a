// How far a transfer has come, on a terminal, when it takes long.
#pragma once

#include <chrono>

#include "exechost/files.hpp"

namespace exechost::cli {

class CopyProgressLine {
 public:
  // `shown`: there is a person who looks.
  explicit CopyProgressLine(bool shown) : shown_(shown) {}
  ~CopyProgressLine() { clear(); }
  CopyProgressLine(const CopyProgressLine&) = delete;
  CopyProgressLine& operator=(const CopyProgressLine&) = delete;

  void update(const CopyProgress& progress);
  void clear();

 private:
  bool shown_;
  bool written_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

// "3.4 MiB", for a person.
std::string readable_bytes(std::uint64_t bytes);

}  // namespace exechost::cli

// How often something has crashed, and when it may be started again. A value; no clock of its own.
#pragma once

#include <chrono>
#include <cstddef>

namespace exechost::host {

// The first crash costs nothing; each further one within ten minutes makes the next start wait longer,
// and the fifth is the last.
class CrashHistory {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void add(Time now);
  std::size_t count() const { return count_; }
  bool is_hopeless() const;
  // Zero: now.
  std::chrono::milliseconds wait(Time now) const;

 private:
  std::size_t count_ = 0;
  Time last_;
};

}  // namespace exechost::host

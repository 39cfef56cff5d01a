// Says once that something takes long, when it does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace exechost::cli {

// After `delay`, if `waiting` holds then, calls `say`, on a thread of its own. Destroying it before
// that calls nothing and does not wait for the delay.
class PatienceNote {
 public:
  PatienceNote(std::chrono::milliseconds delay, std::function<bool()> waiting, std::function<void()> say);
  ~PatienceNote();
  PatienceNote(const PatienceNote&) = delete;
  PatienceNote& operator=(const PatienceNote&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace exechost::cli

#include "cli/patience_note.hpp"

#include <utility>

namespace exechost::cli {

PatienceNote::PatienceNote(std::chrono::milliseconds delay, std::function<bool()> waiting, std::function<void()> say)
    : thread_([this, delay, waiting = std::move(waiting), say = std::move(say)] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, delay, [this] { return over_; })) return;
        lock.unlock();
        if (waiting()) say();
      }) {}

PatienceNote::~PatienceNote() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace exechost::cli

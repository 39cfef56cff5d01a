#include "core/keeper/worker_pool.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"

namespace exechost::keeper {

struct WorkerPool::State {
  std::mutex mutex;
  std::condition_variable work_there;
  std::condition_variable worker_ended;
  std::deque<std::function<void()>> queue;
  std::vector<std::thread> threads;
  std::size_t running = 0;  // threads that have not ended
  std::size_t idle = 0;
  bool finishing = false;

  static void work(const std::shared_ptr<State>& state) {
    std::unique_lock lock(state->mutex);
    while (true) {
      ++state->idle;
      state->work_there.wait(lock, [&state] { return state->finishing || !state->queue.empty(); });
      --state->idle;
      if (state->queue.empty()) break;
      auto task = std::move(state->queue.front());
      state->queue.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it owns is destroyed outside the lock
      lock.lock();
    }
    --state->running;
    state->worker_ended.notify_all();
  }
};

WorkerPool::WorkerPool() : state_(std::make_shared<State>()) {}

WorkerPool::~WorkerPool() { finish(deadline_after(std::chrono::seconds(1))); }

void WorkerPool::submit(std::function<void()> task) {
  const std::lock_guard lock(state_->mutex);
  if (state_->finishing) return;
  state_->queue.push_back(std::move(task));
  if (state_->queue.size() > state_->idle && state_->threads.size() < kMaxWorkers) {
    try {
      state_->threads.emplace_back([state = state_] { State::work(state); });
      ++state_->running;
    } catch (const std::system_error&) {
      // No thread to be had: the task waits for one that is there.
      if (state_->threads.empty()) {
        state_->queue.pop_back();
        throw;
      }
    }
  }
  state_->work_there.notify_one();
}

bool WorkerPool::finish(std::int64_t deadline_ns) {
  std::unique_lock lock(state_->mutex);
  state_->finishing = true;
  state_->work_there.notify_all();
  const auto until = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
  const bool ended = state_->worker_ended.wait_until(lock, until, [this] { return state_->running == 0; });
  if (!ended) state_->queue.clear();
  auto threads = std::exchange(state_->threads, {});
  lock.unlock();
  for (auto& thread : threads) {
    if (ended) {
      thread.join();
    } else {
      thread.detach();  // stuck inside a plugin; there is no way to end it
    }
  }
  return ended;
}

}  // namespace exechost::keeper

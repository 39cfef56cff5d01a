// Threads for calls that may block: into plugins, and what touches disks. Grows on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace exechost::keeper {

inline constexpr std::size_t kMaxWorkers = 16;

class WorkerPool {
 public:
  WorkerPool();
  ~WorkerPool();  // as finish() with a second of patience
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `task` on some worker; a task must not throw. [any thread]
  void submit(std::function<void()> task);

  // Waits until all tasks have ended and joins the threads. False when a task is still running at
  // `deadline_ns`: its thread then goes on alone, with only what the task itself owns, and
  // queued tasks are dropped.
  bool finish(std::int64_t deadline_ns);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace exechost::keeper

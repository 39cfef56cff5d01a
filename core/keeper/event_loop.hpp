// The keeper's one thread: poll(2) over descriptors, timers and work posted by other threads. No
// io_context here: this thread forks, and Asio's fork hooks are what deadlocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/unique_fd.hpp"

namespace exechost::keeper {

class EventLoop {
 public:
  using Handler = std::function<void(short revents)>;
  using Work = std::function<void()>;
  using Timer = std::uint64_t;  // 0: none

  EventLoop();  // throws std::system_error when the kernel has no descriptor left
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls `handler` while `events` (POLLIN, POLLOUT; errors and hang-up always) hold. One watch per
  // descriptor: a second call replaces it. The descriptor stays the caller's and must stay open
  // until unwatch. [loop thread]
  void watch(int fd, short events, Handler handler);
  void unwatch(int fd);

  // `work` at CLOCK_MONOTONIC `deadline_ns`, once. [loop thread]
  Timer at(std::int64_t deadline_ns, Work work);
  void cancel(Timer timer);

  // Runs `work` on the loop thread. False when the loop has ended: then it never runs, and is
  // destroyed. [any thread]
  bool post(Work work);
  bool on_loop_thread() const { return std::this_thread::get_id() == thread_; }

  // On the calling thread, until stop(). What is posted later is refused.
  void run();
  void stop() { stopping_ = true; }  // [loop thread]

 private:
  struct Watch {
    short events = 0;
    std::uint64_t generation = 0;
    std::shared_ptr<Handler> handler;
  };
  void wait();
  void run_posted();
  void run_timers();

  UniqueFd wake_;
  std::thread::id thread_;
  bool stopping_ = false;
  std::uint64_t next_ = 1;
  std::unordered_map<int, Watch> watches_;
  std::map<std::pair<std::int64_t, Timer>, Work> timers_;
  std::unordered_map<Timer, std::int64_t> timer_deadlines_;
  std::mutex mutex_;
  std::vector<Work> posted_;  // guarded by mutex_
  bool ended_ = false;        // guarded by mutex_
};

}  // namespace exechost::keeper

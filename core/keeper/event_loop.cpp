#include "core/keeper/event_loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"

namespace exechost::keeper {

EventLoop::EventLoop() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_(std::this_thread::get_id()) {
  if (!wake_) throw std::system_error(errno, std::system_category(), "eventfd");
}

void EventLoop::watch(int fd, short events, Handler handler) {
  watches_[fd] = Watch{events, next_++, std::make_shared<Handler>(std::move(handler))};
}

void EventLoop::unwatch(int fd) { watches_.erase(fd); }

EventLoop::Timer EventLoop::at(std::int64_t deadline_ns, Work work) {
  const Timer timer = next_++;
  timers_.emplace(std::pair(deadline_ns, timer), std::move(work));
  timer_deadlines_.emplace(timer, deadline_ns);
  return timer;
}

void EventLoop::cancel(Timer timer) {
  const auto found = timer_deadlines_.find(timer);
  if (found == timer_deadlines_.end()) return;
  timers_.erase({found->second, timer});
  timer_deadlines_.erase(found);
}

bool EventLoop::post(Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  // Only a full counter can refuse, and then the loop is awake anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  return true;
}

void EventLoop::run_posted() {
  std::vector<Work> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (auto& item : work) item();
}

void EventLoop::run_timers() {
  while (!timers_.empty() && timers_.begin()->first.first <= monotonic_now_ns()) {
    auto node = timers_.extract(timers_.begin());
    timer_deadlines_.erase(node.key().second);
    node.mapped()();
  }
}

void EventLoop::wait() {
  std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
  std::vector<std::uint64_t> generations{0};
  for (const auto& [fd, watch] : watches_) {
    polled.push_back({fd, watch.events, 0});
    generations.push_back(watch.generation);
  }
  const int timeout = timers_.empty() ? -1 : poll_timeout_ms(timers_.begin()->first.first);
  if (::poll(polled.data(), polled.size(), timeout) <= 0) return;
  if (polled[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
  }
  for (std::size_t index = 1; index < polled.size(); ++index) {
    if (polled[index].revents == 0) continue;
    // A handler before this one may have dropped the watch, and the number may be another's now.
    const auto found = watches_.find(polled[index].fd);
    if (found == watches_.end() || found->second.generation != generations[index]) continue;
    const auto handler = found->second.handler;
    (*handler)(polled[index].revents);
  }
}

void EventLoop::run() {
  while (!stopping_) {
    wait();
    run_posted();
    run_timers();
  }
  std::vector<Work> dropped;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    dropped.swap(posted_);
  }
}

}  // namespace exechost::keeper

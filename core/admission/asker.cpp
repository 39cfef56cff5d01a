#include "core/admission/asker.hpp"

#include <utility>

namespace exechost::admission {

Asker::~Asker() {
  std::optional<std::jthread> thread;
  {
    const std::lock_guard lock(mutex_);
    thread = std::move(thread_);
    thread_.reset();
  }
  // jthread's destructor: request_stop, then join.
}

void Asker::ask(AdmissionQuestion question, std::stop_token stop, std::function<void(Answer)> handler) {
  if (!approver_) return handler(Answer::no_route);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(question), std::move(stop), std::move(handler)});
    if (!thread_) thread_.emplace([this](const std::stop_token& ending) { work(ending); });
  }
  changed_.notify_one();
}

void Asker::work(const std::stop_token& ending) {
  for (;;) {
    std::unique_lock lock(mutex_);
    // False only when it is ending and nothing waits: every handler is called.
    if (!changed_.wait(lock, ending, [this] { return !waiting_.empty(); })) return;
    const Item item = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    item.handler(put(item, ending));
  }
}

Answer Asker::put(const Item& item, const std::stop_token& ending) const {
  // One token for both reasons to stop.
  std::stop_source either;
  const auto stop = [&either] { either.request_stop(); };
  const std::stop_callback on_withdrawn(item.stop, stop);
  const std::stop_callback on_ending(ending, stop);
  if (either.stop_requested()) return Answer::cancelled;
  try {
    return approver_(item.question, either.get_token());
  } catch (...) {
    return Answer::no_route;
  }
}

}  // namespace exechost::admission
